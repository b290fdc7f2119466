# The registry in a container: built in one stage, run in another, as a user who owns nothing but /data.
#
#   docker build -t counterfoil . && docker run -p 8081:8081 -v counterfoil:/data counterfoil
#
# Every step is a script under deploy/image/, so that it can be run, and is tested, without a container engine.

FROM python:3.13-slim AS build
COPY . /source
RUN sh /source/deploy/image/build.sh /source /opt/counterfoil

FROM python:3.13-slim
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
