"""Whose turn it is at work that one worker does at a time."""

import logging
from uuid import uuid4

from django.core.cache import cache
from redis import RedisError

log = logging.getLogger(__name__)


class Turn:
    """A turn at the work `key`, kept in the broker and passed on when a worker falls silent."""

    LASTS_S = 120

    def __init__(self, key: str) -> None:
        self._key, self._mine = key, uuid4().hex

    def take(self) -> bool:
        """Whether it is mine now. Without a broker it is nobody's."""
        try:
            return bool(cache.add(self._key, self._mine, self.LASTS_S))
        except (RedisError, OSError) as error:
            log.warning("%s waits, the broker is away: %s", self._key, error)
            return False

    def renew(self) -> None:
        # Two workers at once would do some work twice, and nothing wrong.
        try:
            cache.touch(self._key, self.LASTS_S)
        except (RedisError, OSError) as error:
            log.warning("%s could not be renewed: %s", self._key, error)

    def give_up(self) -> None:
        try:
            if cache.get(self._key) == self._mine:
                cache.delete(self._key)
        except (RedisError, OSError) as error:
            log.warning("%s ends by itself: %s", self._key, error)
