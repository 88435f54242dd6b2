# One image, several commands: `hedgerow api`, `hedgerow learner`, `hedgerow serve`, ...
FROM python:3.11.15-slim

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    OMP_WAIT_POLICY=PASSIVE

WORKDIR /app

# the lock first: a change of our code does not install everything again
COPY requirements.lock .
RUN pip install --require-hashes -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY service service
COPY hedgerow hedgerow
RUN pip install --no-deps --no-build-isolation .

# /data is the one place that is written to; everything else may be read-only
RUN useradd --system --uid 10001 --home-dir /data --no-create-home hedgerow \
    && install --directory --owner hedgerow --group hedgerow /data
ENV HEDGEROW_DATA_DIR=/data/hedgerow \
    NUMBA_CACHE_DIR=/data/numba \
    TMPDIR=/data

USER hedgerow
# compiled into /data, which a new volume starts with; on another kind of processor it is done again at the start
RUN hedgerow doctor --compile
VOLUME /data

EXPOSE 8000
CMD ["hedgerow", "serve"]
