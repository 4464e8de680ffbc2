#!/usr/bin/env bash
# Builds a real API server of Kubernetes for tests, from the sources that Debian has:
#
#   deploy/dev/kube_apiserver.sh [FOLDER]        # default: build/kube
#   HEADRACE_TEST_KUBE=FOLDER/kube-apiserver .venv/bin/python -m pytest tests/integration/test_kube_api.py
#
# Needs root for Debian's packages (Go, etcd), 3 GB of disk while it builds, and 5 minutes of 2 cores.
# Debian has the server as source alone: its packages are of kubectl. Nothing of it goes into Headrace.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$(realpath -m "${1:-build/kube}")
work=$folder/work
[ -x "$folder/kube-apiserver" ] && { echo "$folder/kube-apiserver is there"; exit; }
mkdir -p "$work/lists/partial"

packages=(golang-go etcd-server dpkg-dev golang-github-modern-go-reflect2-dev)
for package in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' && continue
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}"
  break
done

# The sources of this host's own mirror, by lists of our own: the host's do not change.
mirror=$(apt-cache policy | sed -n 's#.* \(https\?://[^ ]*\) bookworm/main amd64 Packages#\1#p' | head -n 1)
key=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb-src [signed-by=$key] $mirror bookworm main" >"$work/sources.list"
apt=(apt-get -q -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$work/lists" -o APT::Sandbox::User=root)
cd "$work"
"${apt[@]}" update
"${apt[@]}" --download-only source kubernetes
rm -rf src
dpkg-source -x kubernetes_*.dsc src
cd src
mkdir -p .go/src/k8s.io
ln -sfn ../../.. .go/src/k8s.io/kubernetes

# The reflect2 of its vendor folder panics with Go 1.18 and later at any POST; Debian's own does not.
reflect2=$(dirname "$(dpkg -L golang-github-modern-go-reflect2-dev | grep '/reflect2\.go$')")
rm -f vendor/github.com/modern-go/reflect2/*.{go,s}
cp "$reflect2"/*.go "$reflect2"/*.s vendor/github.com/modern-go/reflect2/
rm -f vendor/github.com/modern-go/reflect2/*_test.go

# go.mod does not fit Debian's vendor folder, so the build is that of a GOPATH.
export GO111MODULE=off CGO_ENABLED=0 GOPATH=$PWD/.go GOCACHE=$work/cache GOROOT
GOROOT=$(go env GOROOT)
# One generated file is not shipped. Its generator must know GOROOT, so it is built without -trimpath.
go build -o bin/openapi-gen k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen
inputs=$(grep -rl --include='*.go' '+k8s:openapi-gen=' pkg cmd plugin staging/src vendor |
  grep -v -e testdata -e code-generator -e sample-apiserver -e kube-openapi -e /gengo/ |
  xargs -n 1 dirname | sed 's#^staging/src/#vendor/#; s#^#k8s.io/kubernetes/#' | sort -u | paste -sd,)
cd .go/src/k8s.io/kubernetes
./bin/openapi-gen --logtostderr -i "$inputs" -p k8s.io/kubernetes/pkg/generated/openapi \
  -O zz_generated.openapi -h hack/boilerplate/boilerplate.generatego.txt -r "$work/violations"
GOFLAGS=-trimpath go build -ldflags '-s -w' -o "$folder/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver
cd "$folder"
chmod -R u+w "$work"
rm -rf "$work"
echo "$folder/kube-apiserver is built"
