"""What every vector backend must do. Its test file subclasses `VectorsContract` and provides three fixtures:
`place` opens the same vectors each time it is called, `memory_keys` are keys of memories that exist, and
`gone` is a backend whose service is not available.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from claude_mem.vectors.backend import VectorBackend, VectorsUnavailable

SIZE = 16
CLOSE_ENOUGH = 0.01
PROJECTS = (1, 2)
"""The first half of the memory_keys are of one, the second half of the other."""

Open = Callable[[], VectorBackend]


def vector(*numbers: float, size: int = SIZE) -> Any:
    """Of length 1, with these numbers first."""
    made = np.zeros(size, dtype=np.float32)
    made[: len(numbers)] = numbers
    return made / np.linalg.norm(made)


def vectors_of(memory_keys: Sequence[int], seed: int = 7) -> dict[int, Any]:
    made = np.random.default_rng(seed).standard_normal((len(memory_keys), SIZE)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return dict(zip(memory_keys, made, strict=True))


class VectorsContract:
    """Subclass it, name the class `Test…`, and override the fixtures."""

    @pytest.fixture
    def place(self) -> Open:
        raise NotImplementedError("the backend's test file gives the place")

    @pytest.fixture
    def memory_keys(self) -> list[int]:
        raise NotImplementedError(
            "the backend's test file gives memory_keys: at least 100 in each of two projects"
        )

    @pytest.fixture
    def gone(self) -> VectorBackend:
        raise NotImplementedError("the backend's test file gives a backend whose backend is not there")

    @pytest.fixture
    def backend(self, place: Open) -> VectorBackend:
        return place()

    def test_where_nothing_is_kept_nothing_is_near(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        assert backend.count() == 0
        assert backend.nearest(vector(1), None, 5) == []
        assert backend.nearest(vector(1), 1, 5) == []
        assert backend.cosines(vector(1), memory_keys[:3]) == {}
        assert backend.cosines(vector(1), []) == {}
        backend.put({})
        backend.remove([])

    def test_the_closest_come_first_with_their_cosines(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        backend.put({memory_keys[0]: vector(1), memory_keys[1]: vector(1, 1), memory_keys[2]: vector(-1)})
        found = backend.nearest(vector(1), None, 10)
        assert [memory_key for memory_key, _ in found] == memory_keys[:3]
        assert [cosine for _, cosine in found] == pytest.approx([1, 0.5**0.5, -1], abs=CLOSE_ENOUGH)
        assert [memory_key for memory_key, _ in backend.nearest(vector(1), None, 2)] == memory_keys[:2]
        assert backend.nearest(vector(1), None, 0) == []

    def test_they_are_those_that_comparing_all_would_find(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        made = vectors_of(memory_keys)
        backend.put(made)
        query = vector(1, 2, 3, -4)
        truth = sorted(memory_keys, key=lambda memory_key: -float(made[memory_key] @ query))[:10]
        found = backend.nearest(query, None, 10)
        assert len({memory_key for memory_key, _ in found} & set(truth)) >= 9
        assert dict(found) == pytest.approx(backend.cosines(query, [s for s, _ in found]), abs=1e-5)
        assert dict(found) == pytest.approx(
            {memory_key: float(made[memory_key] @ query) for memory_key, _ in found}, abs=CLOSE_ENOUGH
        )

    def test_what_is_put_again_replaces_what_was_there(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        backend.put({memory_keys[0]: vector(1), memory_keys[1]: vector(0, 1)})
        assert backend.nearest(vector(1), None, 1)[0][0] == memory_keys[0]
        backend.put({memory_keys[0]: vector(-1)})
        assert backend.count() == 2
        assert backend.nearest(vector(1), None, 1)[0][0] == memory_keys[1]
        assert backend.cosines(vector(1), [memory_keys[0]]) == pytest.approx(
            {memory_keys[0]: -1.0}, abs=CLOSE_ENOUGH
        )

    def test_what_is_put_later_is_found_too(self, backend: VectorBackend, memory_keys: list[int]) -> None:
        for memory_key in memory_keys[:5]:
            backend.put({memory_key: vector(1)})
            assert memory_key in dict(backend.nearest(vector(1), None, 10))
            assert memory_key in dict(backend.nearest(vector(1), 1, 10))

    def test_a_project_is_searched_without_the_others(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        made = vectors_of(memory_keys)
        backend.put(made)
        half = len(memory_keys) // 2
        for project, own in zip(PROJECTS, (memory_keys[:half], memory_keys[half:]), strict=True):
            assert {memory_key for memory_key, _ in backend.nearest(vector(1), project, half)} <= set(own)
            closest = max(own, key=lambda memory_key: float(made[memory_key][0]))
            assert backend.nearest(vector(1), project, 1)[0][0] == closest
        assert backend.nearest(vector(1), 3, 5) == []

    def test_cosines_are_of_those_that_are_kept(self, backend: VectorBackend, memory_keys: list[int]) -> None:
        backend.put({memory_keys[0]: vector(1), memory_keys[-1]: vector(0, 1)})
        asked = [memory_keys[-1], memory_keys[1], memory_keys[0]]
        assert backend.cosines(vector(1), asked) == pytest.approx(
            {memory_keys[0]: 1.0, memory_keys[-1]: 0.0}, abs=CLOSE_ENOUGH
        )

    def test_what_is_removed_is_gone_and_the_rest_is_not(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        backend.put(vectors_of(memory_keys[:10]))
        backend.nearest(vector(1), None, 10)
        backend.remove([memory_keys[3], memory_keys[4], memory_keys[50]])
        left = set(memory_keys[:10]) - {memory_keys[3], memory_keys[4]}
        assert backend.count() == 8
        assert {memory_key for memory_key, _ in backend.nearest(vector(1), None, 10)} == left
        assert set(backend.cosines(vector(1), memory_keys[:10])) == left

    def test_after_clearing_there_is_nothing(self, backend: VectorBackend, memory_keys: list[int]) -> None:
        backend.put(vectors_of(memory_keys))
        backend.nearest(vector(1), None, 3)
        backend.clear()
        assert backend.count() == 0
        assert backend.nearest(vector(1), None, 3) == []
        backend.put({memory_keys[0]: vector(1, size=SIZE * 2)})
        assert backend.nearest(vector(1, size=SIZE * 2), None, 3)[0][0] == memory_keys[0]

    def test_vectors_of_another_dimension_are_refused_and_spoil_nothing(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        backend.put({memory_keys[0]: vector(1)})
        other = vector(1, size=SIZE * 2)
        for ask in (
            lambda: backend.put({memory_keys[1]: other}),
            lambda: backend.nearest(other, None, 3),
            lambda: backend.nearest(other, 1, 3),
            lambda: backend.cosines(other, [memory_keys[0]]),
        ):
            with pytest.raises(VectorsUnavailable, match=r"dimension"):
                ask()
        assert dict(backend.nearest(vector(1), None, 3)) == pytest.approx(
            {memory_keys[0]: 1}, abs=CLOSE_ENOUGH
        )
        assert backend.count() == 1

    def test_a_query_without_direction_is_near_nothing(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        backend.put({memory_keys[0]: vector(1)})
        assert backend.nearest(np.zeros(SIZE, dtype=np.float32), None, 3) == []

    def test_it_is_all_there_when_it_is_opened_again(self, place: Open, memory_keys: list[int]) -> None:
        first = place()
        first.put(vectors_of(memory_keys))
        before = first.nearest(vector(1), 1, 5)
        first.close()
        again = place()
        assert again.count() == len(memory_keys)
        assert again.nearest(vector(1), 1, 5) == before

    def test_many_threads_may_ask_and_put_at_once(
        self, backend: VectorBackend, memory_keys: list[int]
    ) -> None:
        made = vectors_of(memory_keys)

        def one(number: int) -> int:
            memory_key = memory_keys[number]
            backend.put({memory_key: made[memory_key]})
            return backend.nearest(made[memory_key], 1, 1)[0][0]

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(one, range(40))) == memory_keys[:40]
        assert backend.count() == 40

    def test_without_its_backend_everything_is_unavailable_and_says_why(
        self, gone: VectorBackend, memory_keys: list[int]
    ) -> None:
        for ask in (
            lambda: gone.put({memory_keys[0]: vector(1)}),
            lambda: gone.remove([memory_keys[0]]),
            lambda: gone.nearest(vector(1), None, 3),
            lambda: gone.cosines(vector(1), [memory_keys[0]]),
            gone.count,
            gone.clear,
        ):
            with pytest.raises(VectorsUnavailable) as why:
                ask()
            assert str(why.value).endswith(".")
