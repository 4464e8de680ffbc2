"""The program's connection to the service: options, sessions, what is reported."""
