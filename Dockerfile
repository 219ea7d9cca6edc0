# MoeChat as a server: `docker compose up`. The data lies in /data, which is a volume.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONUTF8=1 PIP_NO_CACHE_DIR=1 OMP_NUM_THREADS=1 MOECHAT_DATA=/data XDG_CACHE_HOME=/tmp/cache

RUN useradd --no-create-home --uid 10001 moechat && install -d -o moechat /data
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE config.yaml ./
COPY prompts prompts
COPY data/agents data/agents
COPY moechat moechat
RUN pip install -c constraints.txt .

USER 10001
WORKDIR /srv
VOLUME /data
EXPOSE 8012
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8012/healthz', timeout=4)"]
ENTRYPOINT ["moechat"]
CMD ["serve", "--host", "0.0.0.0"]
