"""The least role that each route needs, in one table."""

from service.http.auth import Roles

ROLES: Roles = {
    ("GET", "/healthz"): "open",
    ("GET", "/readyz"): "open",
    ("POST", "/v1/events"): "write",
    ("POST", "/v1/events/stream"): "write",
    ("GET", "/v1/events/ws"): "write",
    ("POST", "/v1/ratings"): "write",
    ("POST", "/v1/ratings/stream"): "write",
    ("GET", "/v1/users/{user}/ratings"): "read",
    ("DELETE", "/v1/users/{user}/ratings/{item}"): "write",
    ("GET", "/v1/users/{user}/recommendations"): "read",
    ("POST", "/v1/recommendations"): "read",
    ("POST", "/v1/recommendations/batch"): "read",
    ("POST", "/v1/rank"): "read",
    ("GET", "/v1/items/{item}/similar"): "read",
    ("GET", "/v1/users/{user}/similar"): "read",
    ("POST", "/v1/items/audience"): "read",
    ("GET", "/v1/popular"): "read",
    ("GET", "/v1/trending"): "read",
    ("GET", "/v1/latest"): "read",
    ("GET", "/v1/users/{user}/predictions/{item}"): "read",
    ("POST", "/v1/predictions"): "read",
    ("GET", "/v1/experts"): "read",
    ("GET", "/v1/experts/history"): "read",
    ("GET", "/v1/topics"): "read",
    ("GET", "/v1/users/{user}/topics"): "read",
    ("GET", "/v1/rankers"): "read",
    ("GET", "/v1/items"): "read",
    ("POST", "/v1/items"): "write",
    ("GET", "/v1/items/{item}"): "read",
    ("PUT", "/v1/items/{item}"): "write",
    ("PATCH", "/v1/items/{item}"): "write",
    ("DELETE", "/v1/items/{item}"): "write",
    ("GET", "/v1/categories"): "read",
    ("GET", "/v1/users"): "read",
    ("POST", "/v1/users"): "write",
    ("GET", "/v1/users/{user}"): "read",
    ("POST", "/v1/users/{user}/merge"): "write",
    ("GET", "/v1/users/{user}/export"): "write",
    ("PUT", "/v1/users/{user}"): "write",
    ("PATCH", "/v1/users/{user}"): "write",
    ("DELETE", "/v1/users/{user}"): "write",
    ("GET", "/v1/erasures/{erasure}"): "read",
    ("POST", "/v1/retrain"): "admin",
    ("GET", "/v1/jobs"): "read",
    ("GET", "/v1/jobs/{job}"): "read",
    ("GET", "/v1/jobs/{job}/events"): "read",
    ("DELETE", "/v1/jobs/{job}"): "admin",
    ("GET", "/v1/retrain/schedule"): "read",
    ("PUT", "/v1/retrain/schedule"): "admin",
    ("DELETE", "/v1/retrain/schedule"): "admin",
    ("GET", "/v1/models"): "read",
    ("GET", "/v1/models/changes"): "read",
    ("POST", "/v1/models/rollback"): "admin",
    ("POST", "/v1/models/{version}/promote"): "admin",
    ("PUT", "/v1/models/{version}/pin"): "admin",
    ("DELETE", "/v1/models/{version}/pin"): "admin",
    ("GET", "/v1/experiments"): "read",
    ("POST", "/v1/experiments"): "admin",
    ("GET", "/v1/experiments/{experiment}"): "read",
    ("DELETE", "/v1/experiments/{experiment}"): "admin",
    ("POST", "/v1/experiments/{experiment}/stop"): "admin",
    ("POST", "/v1/experiments/{experiment}/promote"): "admin",
    ("GET", "/metrics"): "read",
    ("GET", "/v1/stats"): "read",
    ("GET", "/v1/stats/click-through"): "read",
    ("GET", "/v1/stats/contexts"): "read",
    ("GET", "/v1/alarms"): "read",
    ("GET", "/v1/webhooks"): "admin",
    ("POST", "/v1/webhooks"): "admin",
    ("DELETE", "/v1/webhooks/{webhook}"): "admin",
    ("POST", "/v1/webhooks/{webhook}/test"): "admin",
    ("GET", "/v1/webhooks/{webhook}/deliveries"): "admin",
    ("GET", "/v1/settings"): "admin",
    ("GET", "/v1/audit"): "admin",
    ("GET", "/v1/admin/keys"): "admin",
    ("POST", "/v1/admin/keys"): "admin",
    ("DELETE", "/v1/admin/keys/{key}"): "admin",
}
"""By method and path; a route that is not here cannot be built."""

ACTS = frozenset(
    {
        (method, path)
        for (method, path), need in ROLES.items()
        if need == "admin" and method != "GET"
    }
    | {("DELETE", "/v1/users/{user}"), ("DELETE", "/v1/items/{item}")}
    | {("GET", "/v1/users/{user}/export")}
)
"""The routes whose requests are noted in the audit log: what an admin changes, and what concerns
all that is known of somebody or something."""
