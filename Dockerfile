# syntax=docker/dockerfile:1

FROM rust:1.95-slim-bookworm AS build
WORKDIR /notekeeper
COPY . .
# The caches stay with the builder; only the binary leaves this stage.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/notekeeper/target \
    cargo build --release --locked --package notekeeper \
    && install -m 0755 target/release/notekeeper /usr/local/bin/notekeeper

FROM debian:bookworm-slim
# Certificates for databases and Temporal servers that are reached over TLS.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin notekeeper
COPY --from=build /usr/local/bin/notekeeper /usr/local/bin/notekeeper
USER 10001
# Settings come from the environment when the container starts; the image holds none.
ENTRYPOINT ["notekeeper"]
CMD ["worker"]
