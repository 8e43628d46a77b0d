FROM debian:13-slim
RUN <<-'FIRST' <<SECOND
	set -e
	apt-get update && apt-get install -y --no-install-recommends openssh-server && rm -rf /var/lib/apt/lists/*
	FIRST
echo "FROM nvidia/cuda:12.1-base is not an instruction here"
SECOND
COPY <<EOF /etc/ssh/sshd_config.d/10-cluster.conf
PermitRootLogin prohibit-password
PasswordAuthentication no
EOF
CMD ["/usr/sbin/sshd", "-D", "-p", "2222"]
