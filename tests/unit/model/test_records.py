"""Records in which memory travels."""

from claude_mem.model.memory import Observation, content_key
from claude_mem.model.records import content_key_of


def test_the_same_observation_has_one_content_key_as_a_record_and_in_the_store() -> None:
    observation = Observation("change", title="Tests added", files_modified=("src/a.py",))
    record = {"type": "change", "title": "Tests added", "files_modified": ["src/a.py"]}
    assert content_key_of(record) == content_key(observation)
    assert content_key_of(record | {"files_modified": ["src/b.py"]}) != content_key(observation)
