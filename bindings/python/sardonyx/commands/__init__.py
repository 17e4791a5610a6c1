"""What `sardonyx quantize` and `sardonyx convert` do. The command line tool reads the data, writes a request as
JSON, and runs `python -m sardonyx.commands REQUEST`."""
