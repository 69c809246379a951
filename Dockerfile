# The desk for production: no embedded engines and no local language model (the group "local" is left out). The small
# model by whose vectors the desk judges and finds entries comes along; EMBEDDING_MODEL names a provider's, or none.
FROM python:3.13-slim AS build
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /app
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1
COPY pyproject.toml uv.lock ./
# Installed as links to these folders, so they have to be there first.
COPY packages packages
# docker compose build --build-arg EXTRAS=parquet: Parquet files of agents are read as well, 165 MB more.
ARG EXTRAS=""
RUN uv sync --locked --no-dev --no-group local $(for extra in $EXTRAS; do printf -- "--extra %s " "$extra"; done)
COPY manage.py ./
COPY reflection_app reflection_app
COPY notebook_app notebook_app
COPY templates templates
COPY locale locale
COPY static static
COPY docs/openapi.yaml docs/openapi.yaml
# This key signs nothing: it keeps a generated one from being baked into the image.
RUN SECRET_KEY=only-while-building STATIC_DIR=/app/collected .venv/bin/python manage.py collectstatic --no-input
# The running user may write nothing here, so that each process would compile our own modules anew.
RUN .venv/bin/python -m compileall -q manage.py reflection_app notebook_app packages

FROM python:3.13-slim
# For pg_dump and pg_restore of compose's PostgreSQL, from PostgreSQL's own packages: Debian's are of version 17, which
# refuses a server of 18, and those in the embedded PostgreSQL's wheel know no TLS, as databases elsewhere ask for.
ADD --checksum=sha256:0144068502a1eddd2a0280ede10ef607d1ec592ce819940991203941564e8e76 --chmod=0644 \
    https://www.postgresql.org/media/keys/ACCC4CF8.asc /etc/apt/keyrings/pgdg.asc
# The sandbox in which workers run the code of models. What it needs of the container: see docker-compose.yml.
RUN . /etc/os-release \
    && echo "deb [signed-by=/etc/apt/keyrings/pgdg.asc] https://apt.postgresql.org/pub/repos/apt $VERSION_CODENAME-pgdg main" \
        > /etc/apt/sources.list.d/pgdg.list \
    && apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap postgresql-client-18 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /usr/sbin/nologin desk \
    && install -d -o desk -g desk -m 700 /data
WORKDIR /app
# Owned by root: the process can read its code and not change it. What it writes, such as backups, is in /data: a new
# volume mounted there belongs to it, too.
COPY --from=build /app /app
# The programs themselves come before the wrapper that Debian has for them in /usr/bin, which looks for clusters.
ENV PATH=/app/.venv/bin:/usr/lib/postgresql/18/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PRODUCTION=yes \
    REFLECTION_DATA_DIR=/data STATIC_DIR=/app/collected HOST=0.0.0.0
USER desk
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["python", "-m", "reflection_app.config.up.desk"]
# A proxy with TLS stands in front: PRODUCTION makes cookies secure, and X-Forwarded-Proto is believed, as is the last
# address in X-Forwarded-For. Not daphne's --proxy-headers, which would believe the first: that is what the client says.
CMD ["python", "-m", "reflection_app.config.web_servers"]
