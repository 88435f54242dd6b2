"""Feedback that is refused, and with which code."""

REFUSED = {
    "malformed": (b'{"user": "ada"', "malformed_json"),
    "empty body": (b"", "malformed_json"),
    "no object": (b'"ada"', "invalid_event"),
    "NaN": (b'{"user":"a","item":"b","rating":NaN}', "malformed_json"),
    "infinity": (b'{"user":"a","item":"b","rating":-Infinity}', "malformed_json"),
    "overflow": (b'{"user":"a","item":"b","rating":1e999}', "out_of_scale"),
    "boolean": (b'{"user":"a","item":"b","rating":true}', "invalid_event"),
    "text": (b'{"user":"a","item":"b","rating":"3"}', "invalid_event"),
    "null": (b'{"user":"a","item":"b","rating":null}', "invalid_event"),
    "above": (b'{"user":"a","item":"b","rating":5.001}', "out_of_scale"),
    "below": (b'{"user":"a","item":"b","rating":0.999}', "out_of_scale"),
    "numeric user": (b'{"user":7,"item":"b","rating":3}', "invalid_event"),
    "lone surrogate": (b'{"user":"\\ud800","item":"b","rating":3}', "malformed_json"),
    "no UTF-8": (b'{"user":"\xff","item":"b","rating":3}', "malformed_json"),
    "control character": (b'{"user":"a\\u0000","item":"b","rating":3}', "invalid_id"),
    "empty user": (b'{"user":"","item":"b","rating":3}', "invalid_id"),
    "long item": (b'{"user":"a","item":"%b","rating":3}' % (b"x" * 10_000), "invalid_id"),
    "no item": (b'{"user":"a","rating":3}', "invalid_event"),
    "nothing said": (b'{"user":"a","item":"b"}', "invalid_event"),
    "both said": (b'{"user":"a","item":"b","rating":3,"kind":"view"}', "invalid_event"),
    "unknown kind": (b'{"user":"a","item":"b","kind":"sneeze"}', "unknown_kind"),
    "unknown field": (b'{"user":"a","item":"b","rating":3,"x":1}', "invalid_event"),
    "no offset": (
        b'{"user":"a","item":"b","rating":3,"timestamp":"2026-01-01T00:00:00"}',
        "invalid_event",
    ),
    "before the calendar": (
        b'{"user":"a","item":"b","rating":3,"timestamp":"0001-01-01T00:00:00+14:00"}',
        "invalid_event",
    ),
    "after the calendar": (
        b'{"user":"a","item":"b","rating":3,"timestamp":"9999-12-31T23:59:59-14:00"}',
        "invalid_event",
    ),
    "time that is true": (
        b'{"user":"a","item":"b","rating":3,"timestamp":true}',
        "invalid_event",
    ),
    "number of no year": (
        b'{"user":"a","item":"b","rating":3,"timestamp":1e15}',
        "invalid_event",
    ),
    "number before the calendar": (
        b'{"user":"a","item":"b","rating":3,"timestamp":-99999999999}',
        "invalid_event",
    ),
    "number beyond all numbers": (
        b'{"user":"a","item":"b","rating":3,"timestamp":1e999}',
        "invalid_event",
    ),
    "empty event id": (b'{"user":"a","item":"b","rating":3,"event_id":""}', "invalid_id"),
    "deep": (b'{"user":' + b"[" * 100_000, "invalid_event"),
}
