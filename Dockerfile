# One image for every dcf process: serve, pulse, stub, worker. Redis runs elsewhere (REDIS_URL). docs/deployment.md

FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/dcf && /opt/dcf/bin/pip install --no-cache-dir --disable-pip-version-check '.[letta]'
# The endpoints of skills are those of the compose file, not of this machine.
RUN sed 's/"env": "local"/"env": "compose"/' skills_src/registry.json > /opt/dcf/registry.json

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home dcf
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
