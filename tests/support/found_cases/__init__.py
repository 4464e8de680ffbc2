"""Small data sets whose functions look pure and are not, or are: tables of code, and what runs them with and without
found functions."""
