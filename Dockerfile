# One image for every dcf process: serve, web, pulse, stub, worker. Redis runs elsewhere (REDIS_URL). docs/operating/deploy.md
# Its packages are those of requirements/image.txt; `make pin` names newer base images.

FROM python:3.11-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff AS build
# The base image may be rebuilt under its tag, never under its digest. Same sources, same bytes: no compiling with times.
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1
WORKDIR /src
COPY requirements requirements
RUN python -m venv --without-pip /opt/dcf && \
    pip --python /opt/dcf/bin/python install --no-compile --require-hashes --only-binary :all: -r requirements/image.txt && \
    pip install --no-compile --require-hashes --only-binary :all: -r requirements/build.txt
COPY . .
RUN pip wheel --no-build-isolation --no-deps -w /wheels . && \
    pip --python /opt/dcf/bin/python install --no-compile --no-deps --no-index /wheels/*.whl && \
    rm /opt/dcf/lib/python3.11/site-packages/dcf_mcp-*.dist-info/direct_url.json && \
    python -m compileall -q --invalidation-mode unchecked-hash /opt/dcf/lib
# The endpoints of skills are those of the compose file, not of this machine.
RUN sed 's/"env": "local"/"env": "compose"/' skills_src/registry.json > /opt/dcf/registry.json

FROM python:3.11-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff
# Docker gives a new volume the owner that its directory has here: docker-compose.yml keeps the files of tools there.
RUN useradd --no-log-init --uid 10001 --create-home dcf && \
    mkdir -p /home/dcf/.local/share/dcf/workflows && \
    chown -R 10001:10001 /home/dcf/.local
COPY --from=build /opt/dcf /opt/dcf
ENV PATH=/opt/dcf/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SKILL_REGISTRY_PATH=/opt/dcf/registry.json \
    DCF_MCP_HOST=0.0.0.0 \
    STUB_MCP_HOST=0.0.0.0
USER 10001:10001
WORKDIR /home/dcf
EXPOSE 8337
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8337/readyz', timeout=4)"]
ENTRYPOINT ["dcf"]
CMD ["serve", "--transport", "http"]
