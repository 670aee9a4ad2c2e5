"""AplombPlugin: the guard in axolotl, by two lines of its YAML.

    plugins: [aplomb.axolotl.AplombPlugin]
    aplomb: {snapshot_every: 200, record: steps.aplomb}     # options of aplomb.Guard; may be left out

axolotl (0.6 and later) asks a plugin for its keys (get_input_args) and for callbacks of the trainer that it is about to
build (add_callbacks_pre_trainer); everything else is left to axolotl. Without axolotl this module can be imported too.
"""

from __future__ import annotations

from typing import Any

try:
    from axolotl.integrations.base import BasePlugin
except ImportError:

    class BasePlugin:  # type: ignore[no-redef,unused-ignore]
        """What the plugin stands on where there is no axolotl."""


try:
    from pydantic import BaseModel
except ImportError:
    BaseModel = object  # type: ignore[assignment,misc]

__all__ = ["AplombArgs", "AplombPlugin"]


class AplombArgs(BaseModel):  # type: ignore[misc,unused-ignore]
    """The plugin's key in axolotl's YAML."""

    aplomb: dict[str, Any] | None = None


class AplombPlugin(BasePlugin):  # type: ignore[misc,unused-ignore]
    def get_input_args(self) -> str:
        return "aplomb.axolotl.AplombArgs"

    def add_callbacks_pre_trainer(self, cfg: Any, model: Any) -> list[Any]:
        from aplomb.transformers import GuardCallback

        options = cfg.get("aplomb") if hasattr(cfg, "get") else getattr(cfg, "aplomb", None)
        return [GuardCallback(**dict(options or {}))]
