# A Debian machine, for the test of the package.
FROM debian:bookworm-slim
RUN apt-get update --quiet=2 \
    && DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends systemd systemd-sysv
COPY keyward.deb /
# systemd keeps a tree of control groups, which engines mount read-only.
CMD ["sh", "-c", "mount -o remount,rw /sys/fs/cgroup && exec /sbin/init"]
