# BUILDER needs sh, and Python 3.11 or newer with venv and pip; BASE the same Python at the same path, and nothing else: no shell,
# no pip. For example: a Debian 12 with python3-venv, and gcr.io/distroless/python3-debian12.
ARG BUILDER=docker.io/library/python:3.13
ARG BASE=docker.io/library/python:3.13-slim

FROM ${BUILDER} AS builder
WORKDIR /build
COPY requirements.lock requirements-build.lock ./
# Wheels only, so that nothing of others is compiled here; by their hashes, so that no mirror can change them. Where PyPI is reached through
# a mirror: --secret id=pip.conf,src=$HOME/.config/pip/pip.conf, which no layer keeps.
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf --mount=type=cache,target=/root/.cache/pip \
    python3 -m venv tools && python3 -m venv --without-pip /opt/fabric-injector && \
    tools/bin/pip install --require-hashes --no-deps --only-binary :all: -r requirements-build.lock && \
    tools/bin/pip --python /opt/fabric-injector/bin/python install --no-compile \
      --require-hashes --no-deps --only-binary :all: -r requirements.lock
COPY . src
RUN tools/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir dist ./src && \
    tools/bin/pip --python /opt/fabric-injector/bin/python install --no-index --no-deps --no-compile dist/*.whl

FROM ${BASE}
ARG BASE
ARG SOURCE=""
ARG VERSION=""
ARG REVISION=""
LABEL org.opencontainers.image.title="fabric-injector" \
      org.opencontainers.image.description="Join distributed-training pods to a Kubernetes cluster's RDMA fabric, without a change to the job" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE}"
COPY --from=builder /opt/fabric-injector /opt/fabric-injector
# Bytecode, for a root file system that is read-only: of the standard library too, of which python:slim has none. Half the time to
# start. Not of the Kubernetes client, 120 MB with it: it is imported for a kubeconfig's credential plugins only.
USER 0:0
RUN ["/opt/fabric-injector/bin/python", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", \
     "-x", "/(dist-packages|site-packages|share|tests?|idlelib)/", "/usr"]
RUN ["/opt/fabric-injector/bin/python", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", \
     "-x", "/kubernetes/", "/opt/fabric-injector/lib"]
ENV PATH=/opt/fabric-injector/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["fabric-injector"]
