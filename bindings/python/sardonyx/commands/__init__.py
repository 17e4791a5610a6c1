"""What `sardonyx quantize`, `convert` and `generate` do. The command line tool reads the data, writes a request as
JSON, and runs `python -m sardonyx.commands REQUEST`."""
