"""Calls to language models. Only this package imports litellm, and only at the first call."""

from reflection_app.adapters.llm.completion import Completion, CompletionRequest
from reflection_app.adapters.llm.embedding import embed, embedding_model, screening_model, wheels_file
from reflection_app.adapters.llm.errors import (
    ModelError,
    ModelRefused,
    ModelTimedOut,
    ModelUnavailable,
    NoModelConfigured,
    ScriptExhausted,
    ScriptInvalid,
    TextRefused,
)
from reflection_app.adapters.llm.gateway import complete
from reflection_app.adapters.llm.litellm_import import preload
from reflection_app.adapters.llm.roles import LOCAL_MODEL, can_look_back, model_for
from reflection_app.loops.values import Message

__all__ = [
    "LOCAL_MODEL",
    "Completion",
    "CompletionRequest",
    "Message",
    "ModelError",
    "ModelRefused",
    "ModelTimedOut",
    "ModelUnavailable",
    "NoModelConfigured",
    "ScriptExhausted",
    "ScriptInvalid",
    "TextRefused",
    "can_look_back",
    "complete",
    "embed",
    "embedding_model",
    "model_for",
    "preload",
    "screening_model",
    "wheels_file",
]
