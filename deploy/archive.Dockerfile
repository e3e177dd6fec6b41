# The image from an unpacked archive of `make release`, without a compiler. Build it in the archive's folder:
#
#   docker build -f deploy/archive.Dockerfile -t tickhive .
FROM busybox:stable AS data
RUN mkdir -p /out/data

FROM scratch
COPY bin/tickhive /tickhive
COPY --from=data --chown=65532:65532 /out/data /data
USER 65532:65532
VOLUME /data
EXPOSE 8080 8081
# 20 s for accepted requests and the time of the last snapshots: stop with at least --stop-timeout 60.
STOPSIGNAL SIGTERM
# Without a scheme the check takes TLS or not, as the listener speaks.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["/tickhive", "ready", "127.0.0.1:8081"]
ENTRYPOINT ["/tickhive"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--internal-listen", "127.0.0.1:8081", "--data-dir", "/data"]
