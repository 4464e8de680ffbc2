"""An API server of Kubernetes for tests, strict, with nodes whose Pods are processes of this host.

`python -m support.servers.kube FOLDER` serves until its standard input ends (control.py). Nothing here
needs more than Python and openssl. `support.servers.kubernetes` starts it for a test in Python, and
coordinator/pool/kubernetes/fake_kubernetes.h for one in C++.
"""
