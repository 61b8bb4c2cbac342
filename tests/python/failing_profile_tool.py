"""`examples/python/profile_tool.py` with a tool that fails once, after it has remembered."""

from __future__ import annotations

import asyncio
from typing import Any

from temporalio import activity

import profile_tool


class FailingTools(profile_tool.ProfileTools):
    @activity.defn
    async def save_preference(self, tool: dict[str, Any]) -> str:
        saved = await super().save_preference(tool)
        if activity.info().attempt == 1 and saved.startswith("Saved"):
            raise RuntimeError("the worker loses what it has done")
        return saved


if __name__ == "__main__":
    asyncio.run(profile_tool.main(FailingTools))
