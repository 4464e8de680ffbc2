"""Servers that others wrote, started by tests as processes of their own on this host: stores that speak
S3, and a web server. Their packages are those of deploy/dev/setup.sh."""
