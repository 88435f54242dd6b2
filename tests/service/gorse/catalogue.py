"""The catalogue that PyGorse's own tests expect to find, as far as they look at it."""

from collections.abc import Mapping
from typing import Any

USERS = [
    {
        "UserId": user,
        "Labels": dict(zip(("age", "gender", "occupation", "zip_code"), facts, strict=True)),
    }
    for user, *facts in (
        ("1", 24, "M", "technician", "85711"),
        ("10", 53, "M", "lawyer", "90703"),
        ("100", 36, "M", "executive", "90254"),
        ("2", 53, "F", "other", "94043"),
    )
]
ITEMS: list[Mapping[str, Any]] = [
    {"ItemId": item, "Comment": title, "Categories": categories, "Timestamp": released}
    for item, title, categories, released in (
        ("1", "Toy Story (1995)", ["Animation", "Children's", "Comedy"], "1995-01-01"),
        ("2", "GoldenEye (1995)", ["Action", "Adventure", "Thriller"], "1995-01-01"),
        ("10", "Richard III (1995)", ["Drama", "War"], "1996-01-22"),
        ("11", "Seven (Se7en) (1995)", ["Crime", "Thriller"], "1995-01-01"),
        ("100", "Fargo (1996)", ["Crime", "Drama", "Thriller"], "1997-02-14"),
        ("315", "Apt Pupil (1998)", ["Drama", "Thriller"], "1998-10-23"),
        ("404", "Pinocchio (1940)", ["Animation", "Children's"], "1940-01-01"),
        ("478", "Philadelphia Story, The (1940)", ["Comedy", "Romance"], "1940-01-01"),
        ("918", "City of Angels (1998)", ["Drama", "Romance"], "1998-04-03"),
        ("1060", "Adventures of Pinocchio, The (1996)", ["Adventure", "Drama"], "1996-07-26"),
        ("1432", "Mighty, The (1998)", ["Drama"], "1998-10-09"),
    )
]
