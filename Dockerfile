# The registry in a container: built in one stage, run in another, as a user who owns nothing but /data.
#
#   docker build -t counterfoil . && docker run -p 8081:8081 -v counterfoil:/data counterfoil
#
# Every step is a script under deploy/image/, so that it can be run, and is tested, without a container engine.
#
# The base image is pinned by its digest (python:3.13.15-slim-trixie, all architectures). To move on to a newer one, put in
# what this prints, or pass it with --build-arg PYTHON_IMAGE=python:3.13-slim@sha256:…:
#
#   docker buildx imagetools inspect python:3.13-slim --format '{{.Manifest.Digest}}'
ARG PYTHON_IMAGE=python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM ${PYTHON_IMAGE} AS build
# A layer for the dependencies, which is built anew only when one of these files has changed.
COPY deploy/bootstrap.txt /source/deploy/bootstrap.txt
COPY deploy/image /source/deploy/image
RUN sh /source/deploy/image/dependencies.sh /source /opt/counterfoil
COPY . /source
RUN sh /source/deploy/image/package.sh /source /opt/counterfoil

FROM ${PYTHON_IMAGE}
COPY --from=build /opt/counterfoil /opt/counterfoil
COPY deploy/image/health.py /opt/counterfoil/health.py
RUN mkdir /data && chown 10001:10001 /data
USER 10001:10001
WORKDIR /data
VOLUME /data
ENV COUNTERFOIL_HOST=0.0.0.0 COUNTERFOIL_PORT=8081 COUNTERFOIL_STORE=sqlite:////data/counterfoil.db PYTHONUNBUFFERED=1
EXPOSE 8081
HEALTHCHECK --interval=10s --timeout=3s CMD ["/opt/counterfoil/bin/python", "/opt/counterfoil/health.py"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/counterfoil/bin/counterfoil", "serve"]
