#!/bin/sh
# Succeeds if this node's sshd answers on its port; compares the host key, so another sshd does not count.
set -eu
network='' address='' ssh_port=''
# shellcheck source=/dev/null
. /etc/envdoc/node
key=$(cut -d' ' -f2 /etc/envdoc/ssh/host_ed25519.pub)
where=127.0.0.1
[ "$network" != host ] || where=$address
ssh-keyscan -T 4 -t ed25519 -p "$ssh_port" "$where" 2>/dev/null | grep -qF "$key"
