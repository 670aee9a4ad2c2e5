#!/usr/bin/env python3
# ruff: noqa: E501 (templates are written as models ship them, on long lines)
"""Chat templates beside transformers: the same text, and what the assistant says found in it.

usage: chat_peers_test.py APLOMB_TEXT_TOOL

The templates here are written for this test in the manner of the families in use (ChatML, Llama 3, Llama 2, Mistral,
Gemma, Phi, Zephyr, Qwen 3 with its thoughts, DeepSeek), with the constructs that those use. Exit status 77 where
transformers is not installed, 1 where anything differs.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    from transformers.utils.chat_template_utils import render_jinja_template
except ImportError:
    sys.exit(77)

CHATML = """{%- if messages[0].role == 'system' -%}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- else -%}
    {{- "<|im_start|>system\\nBe of use.<|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or message.role == "assistant" %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
LLAMA3 = """{{- bos_token }}
{%- if custom is defined %}{%- set tools = custom %}{%- endif %}
{%- if not date_string is defined %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
LLAMA2 = """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}\
{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}\
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}\
{% if loop.index0 == 0 and system_message != false %}\
{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}\
{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}\
{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}\
{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"""
MISTRAL = """{%- set ns = namespace(index=0, last=-1) %}
{%- for message in messages | selectattr("role", "equalto", "user") | list %}{%- set ns.last = loop.index %}{%- endfor %}
{{- bos_token }}
{%- for message in messages %}
    {%- if message["role"] == "user" %}
        {%- set ns.index = ns.index + 1 %}
        {{- "[INST] " + message["content"] + "[/INST]" }}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
"""
GEMMA = """{{ bos_token }}{%- set first = '' -%}
{%- for message in messages -%}
    {%- if (message['role'] == 'assistant') -%}{%- set role = "model" -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}
    {{ '<start_of_turn>' + role + '\n' + (first if loop.first else "") }}
    {{- message['content'] | trim -}}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}
"""
PHI = """{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'user' %}{{'<|user|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>
' + message['content'] + '<|end|>
'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>
' }}{% else %}{{ eos_token }}{% endif %}"""
ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}
"""
QWEN3 = """{%- set ns = namespace(multi_step=true, last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and message.content is string %}
        {%- set ns.multi_step = false %}{%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}{%- set content = message.content %}{%- else %}{%- set content = '' %}{%- endif %}
    {%- if message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if '</think>' in content %}
            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and (loop.last or (not loop.last and thought)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if thinking is defined and thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
"""
DEEPSEEK = """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}\
{% set ns = namespace(system='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}\
{% set ns.system = message['content'] %}{%- endif %}{%- endfor %}{{bos_token}}{{ns.system}}{%- for message in messages %}\
{%- if message['role'] == 'user' %}{{'<User>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' %}\
{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}\
{{'<Assistant>' + content + '<end>'}}{%- endif %}{%- endfor -%}{% if add_generation_prompt %}{{'<Assistant><think>\\n'}}{% endif %}"""
MARKED = """{%- macro turn(role, content, end='<|im_end|>') -%}<|im_start|>{{ role }}
{{ content ~ end }}
{% endmacro -%}
{# what counts is said #}
{%- for message in messages %}
    {%- if message.role != 'assistant' %}
{{ turn(message.role, message.content) }}
    {%- else %}
<|im_start|>assistant
{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}

    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
ODDS = """{% set a, b = [1, 2] %}{{ a + b * 2 ** 1 if false else (7 // 2) ~ (7 % 3) ~ (-7 // 2) ~ 1.5 ~ (3 / 2) }}
{%+ if true %}kept{% endif %}
  {%- set lines %}x{% for c in 'abc' %}{{ c }}{{ ', ' if not loop.last }}{% endfor %}{% endset %}
{{ lines | upper }} {{ [1, 'a', none, true] }} {{ {'k': [1.0, "it's"]} | tojson }} {{ {'k': {'z': 1}} | tojson(indent=2) }}
{% for i in range(6) if i is odd %}{% if i == 5 %}{% break %}{% endif %}{{ loop.index ~ ':' ~ i }};{% else %}none{% endfor %}
{% for k, v in {'p': 1, 'q': 2}.items() %}{{ k }}={{ v }} {% endfor %}{{ messages | map(attribute='role') | join('/') }}
{{ 'Hello World'[-5:] ~ 'abc'[::-1] ~ 'abc'[1] ~ (messages | length) ~ (missing | default('d')) ~ ('a' in 'cat') }}
{{ messages[-1]['content'] | trim | length }} {{ 'x y  z'.split() }} {{ 'a,b,c'.split(',', 1) }} {{ not (1 < 2 and 'a' < 'b') }}
{{ messages | rejectattr('role', 'in', ['system', 'user']) | list | length }}{{ " q " | trim ~ "|" }} {{- '' -}}
{{ "title case"|title }} {{ 'ab' is string and 3 is number and none is none and messages is not string }}
{% if messages[0].nothing is undefined and not messages[0].nothing %}u{% endif %} {{ messages[0].role.startswith('s') }}

"""
TEMPLATES = {"chatml": CHATML, "llama3": LLAMA3, "llama2": LLAMA2, "mistral": MISTRAL, "gemma": GEMMA, "phi": PHI,
             "zephyr": ZEPHYR, "qwen3": QWEN3, "deepseek": DEEPSEEK, "marked": MARKED, "odds": ODDS}
WORDS = ["Hello there", " a ", "\n\nlines\n", "caf\u00e9 \U0001f468\u200d\U0001f469", "it's \"quoted\"", "<|im_end|>?", "1 + 1 = 2",
         "def f():\n    return 1\n", "\u4f60\u597d", "x" * 300, "{{ not.code }}", "a</think>b", "tab\there"]


def conversations() -> list[list[dict]]:
    rng = random.Random(3)
    made = []
    for _ in range(120):
        turns = [{"role": "system", "content": rng.choice(WORDS)}] if rng.random() < 0.4 else []
        for _ in range(rng.randint(1, 4)):
            turns.append({"role": "user", "content": " ".join(rng.choices(WORDS, k=2))})
            turns.append({"role": "assistant", "content": rng.choice(["", "<think>\nhm\n</think>\n\n"]) + rng.choice(WORDS)})
        made.append(turns)
    return made


def unframed(data: bytes) -> list[str]:
    made = []
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        size = int(data[at:end])
        made.append(data[end + 1:end + 1 + size].decode())
        at = end + 1 + size
    return made


def there(turns: list[dict], template: str, prompt: bool) -> str:
    made, _ = render_jinja_template(conversations=[turns], chat_template=template, add_generation_prompt=prompt,
                                    bos_token="<s>", eos_token="</s>", tools=None, documents=None)
    return made[0]


def main() -> int:
    tool = sys.argv[1]
    talks = conversations()
    encoded = [json.dumps(turns).encode() for turns in talks]
    data = b"".join(str(len(each)).encode() + b"\n" + each for each in encoded)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, template in TEMPLATES.items():
            path = pathlib.Path(folder) / name
            path.write_text(template)
            done = subprocess.run([tool, "chat", str(path)], input=data, capture_output=True, check=True)
            texts = unframed(done.stdout)
            faults = []
            lost = 0
            for i, turns in enumerate(talks):
                whole, prompted, counted = texts[3 * i:3 * i + 3]
                for text, prompt in ((whole, False), (prompted, True)):
                    wanted = there(turns, template, prompt)
                    if text != wanted:
                        faults.append(f"{name}: {text!r}\n   here, there {wanted!r}")
                if name == "odds":
                    continue
                if counted.startswith("error"):
                    lost += 1
                    thinks = any("</think>" in turn["content"] for turn in turns)
                    if not (thinks and name in {"qwen3", "deepseek"}):  # those take thoughts out of the text
                        faults.append(f"{name}: {counted}")
                    continue
                faults += check_counted(name, turns, whole, counted)
            print(f"{name}: {len(faults)} differences in {len(talks)} conversations, {lost} refused")
            print("\n".join(fault[:900] for fault in faults[:2]))
            failed += len(faults)
    return 1 if failed else 0


def check_counted(name: str, turns: list[dict], whole: str, counted: str) -> list[str]:
    """Each answer counts with its words, in order; nothing of a question does; the end of turn counts."""
    parts = counted.split("\x1e")[:-1]
    answers = [turn["content"] for turn in turns if turn["role"] == "assistant"]
    if len(parts) != len(answers):
        return [f"{name}: {len(parts)} parts count, {len(answers)} answers in {whole!r}"]
    ends = {"chatml": "<|im_end|>", "llama3": "<|eot_id|>", "llama2": "</s>", "mistral": "</s>", "gemma": "<end_of_turn>",
            "phi": "<|end|>", "zephyr": "</s>", "qwen3": "<|im_end|>", "deepseek": "<end>", "marked": "<|im_end|>"}
    faults = []
    at = 0
    for part, answer in zip(parts, answers, strict=True):
        found = whole.find(part, at)
        end = "</s>" if name == "phi" and part.endswith("</s>") else ends[name]
        words = part.strip().removesuffix(end).removesuffix("\n").removesuffix(ends[name]).strip()
        spoken = words.removeprefix("<think>\n\n</think>\n\n").strip()
        as_said = found >= 0 and spoken in (answer.strip(), answer.strip("\n").strip())
        if not as_said and not (name in {"qwen3", "deepseek"} and answer.strip().endswith(words[-1:])):
            faults.append(f"{name}: {part!r} counts for the answer {answer!r} in {whole!r}")
        if not part.endswith(end):
            faults.append(f"{name}: {part!r} counts without the end of turn")
        at = found + len(part)
    return faults


if __name__ == "__main__":
    sys.exit(main())
