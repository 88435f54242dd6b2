# One image, several commands: `hedgerow api`, `hedgerow learner`, `hedgerow serve`, ...
# docs/how-to/run-with-docker.md says how its base is brought up to date.
FROM python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS base
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    OMP_WAIT_POLICY=PASSIVE \
    PATH=/opt/hedgerow/bin:$PATH

FROM base AS build
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
RUN python -m venv --without-pip /opt/hedgerow
# the lock first: a change of our code does not install everything again
COPY requirements.lock .
RUN /usr/local/bin/python -m pip --python /opt/hedgerow install --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY service service
COPY hedgerow hedgerow
# numba compares the times of sources; an image keeps whole seconds of them
RUN /usr/local/bin/python -m pip --python /opt/hedgerow install --no-deps --no-build-isolation . \
    && find /opt/hedgerow -name '*.py' -exec touch --no-dereference --date=@1700000000 {} + \
    && python -m compileall -q /opt/hedgerow/lib
# for every processor of this kind; deploy/image/start says when other code is used
RUN NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/opt/hedgerow/compiled hedgerow doctor --compile
COPY --chmod=755 deploy/image/start /opt/hedgerow/bin/start

FROM base
COPY --from=build /opt/hedgerow /opt/hedgerow
# /data is the one place that is written to; everything else may be read-only
RUN useradd --system --uid 10001 --home-dir /data --no-create-home hedgerow \
    && install --directory --owner hedgerow --group hedgerow /data
ENV HEDGEROW_DATA_DIR=/data/hedgerow \
    TMPDIR=/data
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["start"]
CMD ["hedgerow", "serve"]
