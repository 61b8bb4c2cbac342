"""What Temporal's Python SDK makes: histories of nearly every kind of event, and its own reading of them.

    python_sdk.py record ADDRESS NAMESPACE TASK_QUEUE    runs workflows, prints [{"workflow_id", "run_id"}, …]
    python_sdk.py convert FILE…                          writes FILE.binpb as the SDK reads the JSON in FILE
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity, client, workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.history.v1 import History
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.common import RetryPolicy, SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes
from temporalio.exceptions import ApplicationError, CancelledError, TemporalError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

#: Longest time for all that is recorded.
PATIENCE = 80.0
#: Text of several scripts, with what JSON escapes and what it must not.
TEXT = 'thé \u2713 日本語 \U0001f375 "\\/\u2028\x7f'
#: A queue that nobody serves.
NOBODY = "nobody-serves-this"

KEYWORD = SearchAttributeKey.for_keyword("NotekeeperTestKeyword")
NUMBER = SearchAttributeKey.for_int("NotekeeperTestInt")
LIST = SearchAttributeKey.for_keyword_list("NotekeeperTestList")

FAST = timedelta(seconds=10)
ONCE = RetryPolicy(maximum_attempts=1)


@activity.defn
async def echo(value: Any) -> Any:
    return value


@activity.defn
async def as_bytes(size: int) -> bytes:
    return bytes(index % 256 for index in range(size))


@activity.defn
async def fail(message: str) -> None:
    try:
        try:
            raise ValueError(f"innermost: {message}")
        except ValueError as error:
            raise RuntimeError("in between") from error
    except RuntimeError as error:
        raise ApplicationError(
            message, {"nested": [1, 2.5, None]}, b"\x00\xff", type="Outermost", next_retry_delay=timedelta(milliseconds=7)
        ) from error


@workflow.defn
class Waits:
    """Waits until it is told to go on, or is ended."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    @workflow.run
    async def run(self) -> list[Any]:
        await workflow.wait_condition(lambda: bool(self.told))
        return self.told

    @workflow.query
    def waits(self) -> bool:
        return not self.told

    @workflow.signal
    async def tell(self, value: Any) -> None:
        self.told.append(value)


@workflow.defn
class Fails:
    @workflow.run
    async def run(self, message: str) -> None:
        await workflow.execute_activity(fail, message, start_to_close_timeout=FAST, retry_policy=ONCE)


@workflow.defn
class Continues:
    @workflow.run
    async def run(self, rest: int) -> str:
        if rest:
            workflow.continue_as_new(rest - 1)
        return TEXT


_stumbled: set[str] = set()


@workflow.defn
class Stumbles:
    """Fails a workflow task before it goes on."""

    @workflow.run
    async def run(self) -> str:
        run = workflow.info().run_id
        if run not in _stumbled:
            _stumbled.add(run)
            raise RuntimeError(f"no failure of the workflow: {TEXT}")
        return await workflow.execute_activity(echo, "went on", start_to_close_timeout=FAST)


async def ended(awaitable: Any) -> None:
    """Waits for what may fail or be cancelled."""
    try:
        await awaitable
    except (TemporalError, asyncio.CancelledError, asyncio.TimeoutError):
        pass


@workflow.defn
class Everything:
    def __init__(self) -> None:
        self.numbers: list[int] = []

    @workflow.run
    async def run(self, given: dict[str, Any]) -> dict[str, Any]:
        workflow.patched("a-patch")
        await self.activities(given)
        await self.timers()
        await self.children()
        await self.others()
        workflow.upsert_search_attributes([KEYWORD.value_set(TEXT), LIST.value_set(["a", "b"]), NUMBER.value_unset()])
        workflow.upsert_memo({"changed": b"\x01", "added": None})
        await workflow.wait_condition(lambda: len(self.numbers) == 2)
        return {"text": TEXT, "numbers": self.numbers}

    async def activities(self, given: dict[str, Any]) -> None:
        run = workflow.execute_activity
        await run(echo, given, start_to_close_timeout=FAST, summary=TEXT)
        await run(as_bytes, 600, start_to_close_timeout=FAST, heartbeat_timeout=timedelta(milliseconds=1500))
        twice = RetryPolicy(initial_interval=timedelta(milliseconds=1), maximum_attempts=2, non_retryable_error_types=["T"])
        await ended(run(fail, TEXT, start_to_close_timeout=FAST, retry_policy=twice))
        await ended(run(echo, 1, task_queue=NOBODY, schedule_to_close_timeout=timedelta(milliseconds=100)))
        cancelled = workflow.start_activity(echo, 1, task_queue=NOBODY, schedule_to_close_timeout=FAST)
        await asyncio.sleep(0.01)
        cancelled.cancel()
        await ended(cancelled)
        await workflow.execute_local_activity(as_bytes, 3, start_to_close_timeout=FAST)
        await workflow.execute_local_activity(echo, {"of": TEXT}, start_to_close_timeout=FAST)
        await ended(workflow.execute_local_activity(fail, TEXT, start_to_close_timeout=FAST, retry_policy=ONCE))

    async def timers(self) -> None:
        await workflow.sleep(0.0015, summary="a timer")
        await ended(asyncio.wait_for(workflow.wait_condition(lambda: False), 0.001))
        timer = asyncio.create_task(asyncio.sleep(1000))
        await asyncio.sleep(0.001)
        timer.cancel()
        await ended(timer)

    async def children(self) -> None:
        run, start = workflow.execute_child_workflow, workflow.start_child_workflow
        me = workflow.info().workflow_id
        await run(Continues.run, 1, id=f"{me}-continues", memo={"of": "a child"})
        await ended(run(Fails.run, TEXT, id=f"{me}-fails"))
        await ended(run(Waits.run, id=f"{me}-times-out", execution_timeout=timedelta(milliseconds=50)))
        child = await start(
            Waits.run,
            id=f"{me}-cancelled",
            cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        # The id is taken now.
        await ended(start(Waits.run, id=f"{me}-cancelled"))
        child.cancel()
        await ended(child)
        told = await start(Waits.run, id=f"{me}-told")
        await told.signal(Waits.tell, b"\x02\x03")
        await told
        await ended(run(Waits.run, id=f"{me}-terminated", parent_close_policy=workflow.ParentClosePolicy.ABANDON))

    async def others(self) -> None:
        nobody = workflow.get_external_workflow_handle(f"{workflow.info().workflow_id}-nobody")
        await ended(nobody.signal("tell", TEXT))
        await ended(nobody.cancel())
        other = workflow.get_external_workflow_handle(f"{workflow.info().workflow_id}-other")
        await other.signal("ignored", [TEXT, None])
        await other.cancel()

    @workflow.update
    async def add(self, number: int) -> list[int]:
        if number == 13:
            raise ApplicationError("not this one", {"number": number}, type="Unlucky", non_retryable=True)
        await asyncio.sleep(0.001)
        self.numbers.append(number)
        return self.numbers


class WithHeaders(client.Interceptor):
    """Puts a header into each request."""

    def intercept_client(self, next: client.OutboundInterceptor) -> client.OutboundInterceptor:
        class Outbound(client.OutboundInterceptor):
            async def start_workflow(self, input: client.StartWorkflowInput) -> WorkflowHandle[Any, Any]:
                return await self.next.start_workflow(with_header(input))

            async def signal_workflow(self, input: client.SignalWorkflowInput) -> None:
                return await self.next.signal_workflow(with_header(input))

            async def start_workflow_update(self, input: client.StartWorkflowUpdateInput) -> Any:
                return await self.next.start_workflow_update(with_header(input))

        return Outbound(next)


def with_header(input: Any) -> Any:
    payload = DataConverter.default.payload_converter.to_payload({"header": TEXT})
    return dataclasses.replace(input, headers={**input.headers, "a-header": payload})


async def retried(attempt: Any, passing: Any) -> Any:
    """Tries until it isn't refused for a reason that passes."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return await attempt()
        except RPCError as error:
            if not passing(error) or time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)


async def add_search_attributes(temporal: Client, namespace: str) -> None:
    kinds = IndexedValueType
    wanted = {
        KEYWORD.name: kinds.INDEXED_VALUE_TYPE_KEYWORD,
        NUMBER.name: kinds.INDEXED_VALUE_TYPE_INT,
        LIST.name: kinds.INDEXED_VALUE_TYPE_KEYWORD_LIST,
    }
    request = AddSearchAttributesRequest(namespace=namespace, search_attributes=wanted)
    try:
        await temporal.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status != RPCStatusCode.ALREADY_EXISTS:
            raise


async def everything(temporal: Client, queue: str) -> list[WorkflowHandle]:
    id = f"{queue}-everything"
    other = await temporal.start_workflow(Waits.run, id=f"{id}-other", task_queue=queue)
    attributes = TypedSearchAttributes([SearchAttributePair(KEYWORD, "k"), SearchAttributePair(NUMBER, -7)])

    async def start() -> WorkflowHandle:
        return await temporal.start_workflow(
            Everything.run,
            {"text": TEXT, "float": 1e-9, "big": 2**63, "nothing": None, "list": [{}, [], ""]},
            id=id,
            task_queue=queue,
            memo={"text": TEXT, "bytes": b"\xfe\xff", "nothing": None},
            search_attributes=attributes,
            static_summary=f"A summary: {TEXT}",
            static_details="Details\nin two lines",
            run_timeout=timedelta(minutes=5),
            start_delay=timedelta(milliseconds=20),
        )

    run = await retried(start, lambda error: error.status == RPCStatusCode.INVALID_ARGUMENT)
    terminated = temporal.get_workflow_handle(f"{id}-terminated")
    # Once it waits: a query is answered when a workflow task was completed.
    await retried(lambda: terminated.query(Waits.waits), lambda error: error.status == RPCStatusCode.NOT_FOUND)
    await terminated.terminate({"of": TEXT}, reason="enough")
    await run.execute_update(Everything.add, 1)
    await ended(run.execute_update(Everything.add, 13))
    await run.execute_update(Everything.add, 2)
    await run.result()
    await ended(other.result())
    return [run, other, terminated] + [
        temporal.get_workflow_handle(f"{id}-{child}") for child in ("continues", "fails", "cancelled", "told")
    ]


async def reset(temporal: Client, queue: str) -> list[WorkflowHandle]:
    run = await temporal.start_workflow(Stumbles.run, id=f"{queue}-reset", task_queue=queue)
    await run.result()
    tasks = [event.event_id async for event in run.fetch_history_events() if event.HasField("workflow_task_completed_event_attributes")]
    execution = WorkflowExecution(workflow_id=run.id, run_id=run.first_execution_run_id)
    answer = await temporal.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=temporal.namespace,
            workflow_execution=execution,
            reason=TEXT,
            workflow_task_finish_event_id=tasks[-1],
            request_id=f"{queue}-reset",
        )
    )
    again = temporal.get_workflow_handle(run.id, run_id=answer.run_id)
    await again.result()
    return [temporal.get_workflow_handle(run.id, run_id=run.first_execution_run_id), again]


async def failing(temporal: Client, queue: str) -> list[WorkflowHandle]:
    again = RetryPolicy(initial_interval=timedelta(milliseconds=1), maximum_attempts=2)
    run = await temporal.start_workflow(Fails.run, TEXT, id=f"{queue}-fails", task_queue=queue, retry_policy=again)
    await ended(run.result())
    first = temporal.get_workflow_handle(run.id, run_id=run.first_execution_run_id)
    return [first, temporal.get_workflow_handle(run.id)]


async def continuing(temporal: Client, queue: str) -> list[WorkflowHandle]:
    run = await temporal.start_workflow(Continues.run, 1, id=f"{queue}-continues", task_queue=queue, memo={"a": 1})
    await run.result()
    first = temporal.get_workflow_handle(run.id, run_id=run.first_execution_run_id)
    return [first, temporal.get_workflow_handle(run.id)]


async def timed_out(temporal: Client, queue: str) -> list[WorkflowHandle]:
    run = await temporal.start_workflow(
        Waits.run, id=f"{queue}-times-out", task_queue=queue, run_timeout=timedelta(seconds=2)
    )
    try:
        await run.result()
    except client.WorkflowFailureError:
        pass
    return [run]


async def record(address: str, namespace: str, queue: str) -> None:
    converter = dataclasses.replace(
        DataConverter.default, failure_converter_class=DefaultFailureConverterWithEncodedAttributes
    )
    temporal = await Client.connect(address, namespace=namespace, interceptors=[WithHeaders()], data_converter=converter)
    plain = await Client.connect(address, namespace=namespace)
    await add_search_attributes(temporal, namespace)
    workflows = [Waits, Fails, Continues, Stumbles, Everything]
    worker = Worker(
        temporal,
        task_queue=queue,
        workflows=workflows,
        activities=[echo, as_bytes, fail],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    plainly = Worker(plain, task_queue=f"{queue}-plain", workflows=[Fails], activities=[fail])
    async with worker, plainly:
        recorded = await asyncio.wait_for(
            asyncio.gather(
                everything(temporal, queue),
                reset(temporal, queue),
                continuing(temporal, queue),
                failing(temporal, queue),
                failing(plain, f"{queue}-plain"),
                timed_out(temporal, queue),
            ),
            PATIENCE,
        )
    runs = [handle for handles in recorded for handle in handles]
    described = [await handle.describe() for handle in runs]
    print(json.dumps([{"workflow_id": run.id, "run_id": run.run_id} for run in described]))


def convert(files: list[str]) -> None:
    for file in files:
        read = WorkflowHistory.from_json("a-workflow", Path(file).read_text(encoding="utf-8"))
        Path(f"{file}.binpb").write_bytes(History(events=read.events).SerializeToString())


if __name__ == "__main__":
    if sys.argv[1] == "record":
        asyncio.run(record(*sys.argv[2:]))
    else:
        convert(sys.argv[2:])
