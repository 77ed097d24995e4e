"""Every store keeps the contracts (`stores.py` lists them)."""

from __future__ import annotations

from tests.contracts.author_contract import AuthorContract
from tests.contracts.batch_contract import BatchContract
from tests.contracts.correction_contract import CorrectionContract
from tests.contracts.member_contract import MemberContract
from tests.contracts.memory_read_contract import MemoryReadContract
from tests.contracts.memory_write_contract import MemoryWriteContract
from tests.contracts.queue_contract import QueueContract
from tests.contracts.store_contract import StoreContract
from tests.contracts.transfer_contract import TransferContract


class TestAuthor(AuthorContract):
    pass


class TestMember(MemberContract):
    pass


class TestStore(StoreContract):
    pass


class TestWork(QueueContract):
    pass


class TestBatch(BatchContract):
    pass


class TestKeeping(MemoryWriteContract):
    pass


class TestLibrary(MemoryReadContract):
    pass


class TestPortable(TransferContract):
    pass


class TestRevising(CorrectionContract):
    pass
