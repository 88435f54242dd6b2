"""``hedgerow eval``: metrics of models on data sets in files.

Each module of this package owns options and output of a subcommand; ``service/evaluation`` does
the work.
"""

from service.cli import options
from service.cli.eval.labels import labels
from service.cli.eval.next import next_item
from service.cli.eval.online import online
from service.cli.eval.ordinal import ordinal
from service.cli.eval.stream import stream
from service.cli.eval.topk import topk

app = options.verb()


@app.callback()
def _group() -> None:
    """Evaluate models on data sets in files."""


app.command("online")(online)
app.command("topk")(topk)
app.command("next")(next_item)
app.command("stream")(stream)
app.command("labels")(labels)
app.command("ordinal")(ordinal)
