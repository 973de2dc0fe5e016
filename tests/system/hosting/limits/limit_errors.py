"""Run by the Python of an SDK: what `read_limit` makes of errors of the SDK's own classes, as JSON.

    python -P limit_errors.py FOLDER_OF_DCF

Classes of an SDK that is not installed are left out.
"""

# ruff: noqa: PLC0415, T201 - a script that imports what is there

import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

NOW = 1_795_525_200.0  # 2026-11-24T13:00:00Z
BODY = {"type": "error", "error": {"type": "rate_limit_error", "message": "This would exceed your limit."}}
TPM = {"message": "Rate limit reached. Please try again in 9.816s.", "type": "tokens", "code": "rate_limit_exceeded"}
QUOTA = {"message": "You exceeded your quota", "type": "insufficient_quota", "code": "insufficient_quota"}
CREDIT = {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low."}}
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "53s"}
BUCKET = {
    "anthropic-ratelimit-input-tokens-remaining": "0",
    "anthropic-ratelimit-input-tokens-reset": "2026-11-24T13:00:42Z",
}


def status_error(kind: Any, status: int, body: Any, **headers: str) -> Exception:
    web = sys.modules.get("httpx2") or sys.modules["httpx"]
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    response = web.Response(status, headers=names, request=web.Request("POST", "https://x"))
    error: Exception = kind("text", response=response, body=body)
    return error


def of_anthropic() -> Iterator[tuple[str, Exception, Any]]:
    import anthropic

    limited = anthropic.RateLimitError
    yield "Retry-After", status_error(limited, 429, BODY, retry_after="37"), ["limit", 37]
    yield (
        "bucket",
        status_error(limited, 429, BODY, **{k.replace("-", "_"): v for k, v in BUCKET.items()}),
        ["limit", 42],
    )
    yield "no time", status_error(limited, 429, BODY), ["limit", None]
    overloaded = {"error": {"type": "overloaded_error"}}
    yield "overloaded", status_error(anthropic.APIStatusError, 529, overloaded), ["busy", None]
    yield "no credit", status_error(anthropic.BadRequestError, 400, CREDIT), ["spent", None]
    yield "another", status_error(anthropic.BadRequestError, 400, {}), None


def of_openai() -> Iterator[tuple[str, Exception, Any]]:
    import openai

    limited = openai.RateLimitError
    windows = {"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "6m0s"}
    yield "headers", status_error(limited, 429, TPM, **windows), ["limit", 360]
    yield "milliseconds", status_error(limited, 429, TPM, retry_after_ms="976"), ["limit", 0.976]
    yield "quota", status_error(limited, 429, QUOTA), ["spent", None]
    yield "group", ExceptionGroup("g", [status_error(limited, 429, TPM, retry_after="20")]), ["limit", 20]


def of_langchain_openai() -> Iterator[tuple[str, Exception, Any]]:
    from langchain_openai.chat_models.base import OpenAIRateLimitError

    yield "langchain", status_error(OpenAIRateLimitError, 429, TPM, retry_after="20"), ["limit", 20]


def of_langchain_anthropic() -> Iterator[tuple[str, Exception, Any]]:
    from langchain_anthropic.chat_models import AnthropicRateLimitError

    yield "langchain", status_error(AnthropicRateLimitError, 429, BODY, retry_after="20"), ["limit", 20]


def of_pydantic_ai() -> Iterator[tuple[str, Exception, Any]]:
    from pydantic_ai.exceptions import ModelHTTPError

    date = {"Retry-After": "Tue, 24 Nov 2026 13:05:00 GMT"}
    yield "headers", ModelHTTPError(429, "m", body=BODY, headers=date), ["limit", 300]


def of_google() -> Iterator[tuple[str, Exception, Any]]:
    from google.genai.errors import ClientError

    def limited(*details: Any) -> Exception:
        words = "You exceeded your current quota. Please retry in 53.016s."
        error = {"code": 429, "message": words, "status": "RESOURCE_EXHAUSTED", "details": list(details)}
        client_error: Exception = ClientError(429, {"error": error})
        return client_error

    yield "RetryInfo", limited(RETRY_INFO), ["limit", 53]
    yield "words", limited(), ["limit", 53.016]
    from langchain_google_genai.chat_models import GoogleRateLimitError

    hidden = GoogleRateLimitError("Error calling model")
    hidden.__cause__ = limited(RETRY_INFO)
    yield "langchain", hidden, ["limit", 53]


def of_claude() -> Iterator[tuple[str, Exception, Any]]:
    from claude_agent_sdk import ResultError

    def ended(text: str, **more: Any) -> Exception:
        result: Exception = ResultError(text, {"subtype": "success", "is_error": True, "result": text, **more}, 1)
        return result

    yield "old text", ended(f"Claude AI usage limit reached|{int(NOW) + 3600}"), ["limit", 3600]
    zoned = "You've hit your session limit \u00b7 resets 3:30pm (Europe/London)"
    yield "zone", ended(zoned, api_error_status=429), ["limit", 9000]
    yield "unknown zone", ended(zoned.replace("London", "Atlantis"), api_error_status=429), ["limit", None]
    window = {"status": "rejected", "resetsAt": NOW + 63}
    yield "event", ended("API Error", api_error_status=429, rate_limit_info=window), ["limit", 63]
    yield "gateway", ended("API Error: quota insufficient", api_error_status=403), None
    yield "turns", ResultError("x", {"subtype": "error_max_turns", "is_error": True}, 1), None


SDKS = (
    of_anthropic, of_openai, of_langchain_openai, of_langchain_anthropic, of_pydantic_ai, of_google, of_claude
)  # fmt: skip


def main(place: str) -> None:
    spec = importlib.util.spec_from_file_location("dcf", f"{place}/__init__.py", submodule_search_locations=[place])
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["dcf"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    from dcf.worker.provider_limits import read_limit

    rows = []
    for sdk in SDKS:
        with suppress(ImportError):
            for name, error, expected in sdk():
                limit = read_limit(error, NOW)
                after_s = None if limit is None else limit.after_s if limit.until is None else limit.until - NOW
                read = None if limit is None else [limit.kind, None if after_s is None else round(after_s, 3)]
                rows.append([f"{sdk.__name__.removeprefix('of_')}: {name}", read, expected])
    print(json.dumps(rows))


if __name__ == "__main__":
    main(sys.argv[1])
