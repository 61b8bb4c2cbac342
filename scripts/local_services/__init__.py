"""PostgreSQL and Temporal for one command: fetched once, started for it, stopped with it.

Reading order: `cli` (what can be asked for), `session` (one run from start to end), `command` (the
command in the foreground), `server` with `postgres` and `temporal` (what is started), `python_sdk`
(what lies beside them), `toolbox`, `pip` and `platforms` (where the programs come from), `control`
(stopping and starting a server while the command runs), `guard` (what cleans up when this process is
killed), and the small ones: `processes`, `ports`, `signals`, `directories`, `trouble`.
"""
