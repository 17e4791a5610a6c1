"""Readers and writers of models in ORT format, which are FlatBuffers."""
