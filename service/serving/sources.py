"""What the answers of an api process are made from."""

from dataclasses import dataclass

from service.serving.copies.catalogue_view import CatalogueView
from service.serving.copies.new_items import NewItemsFollower
from service.serving.copies.popularity import Popularity
from service.serving.lineups import Lineups
from service.serving.users import Users
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers
from service.store.log.changes import ChangeFollower
from service.store.namespace import Namespace


@dataclass(frozen=True)
class Sources:
    """The copies in memory, and the parts of the catalogue that are read on request."""

    namespace: Namespace
    lineups: Lineups
    users: Users
    numbers: ItemNumbers
    catalogue: Catalogue
    view: CatalogueView
    popularity: Popularity
    new_items: NewItemsFollower
    changes: ChangeFollower
