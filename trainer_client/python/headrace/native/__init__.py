"""What native operators stand for in the installed libraries: plans, transforms, and checks of both."""
