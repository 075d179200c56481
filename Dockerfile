# An image of Keyward: the binary on Debian, as a user without rights, that writes only to its volume.
#
#   docker build --build-arg KEYWARD_COMMIT="$(git rev-parse --short=12 HEAD)" --tag keyward .
#
# docs/install.md tells how to run it.

# `cargo xtask image` tests this stage, with a program that is built already.
FROM debian:bookworm-slim AS runtime
# The embedded database's directory; a volume that is mounted there inherits its owner.
RUN install --directory --owner=65532 --group=65532 --mode=0700 /var/lib/keyward
ENV KEYWARD_LISTEN=0.0.0.0:8080 KEYWARD_DATA_DIR=/var/lib/keyward
USER 65532:65532
VOLUME /var/lib/keyward
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=10s --start-period=30s CMD ["keyward", "healthcheck"]
ENTRYPOINT ["keyward"]
CMD ["serve"]

FROM rust:1.95-bookworm AS build
WORKDIR /keyward
COPY . .
ARG KEYWARD_COMMIT
RUN cargo build --locked --release --package keyward

FROM runtime
# For PostgreSQL behind TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /keyward/target/release/keyward /usr/local/bin/keyward
