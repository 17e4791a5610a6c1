"""Writing LoRA adapters, which Sardonyx does not support yet."""
from sardonyx.missing import refused


@refused
def get_args():
    """Would read the command line."""


@refused
def export_lora_parameters(npz_file_path, adapter_version, model_version, output_file_path):
    """Would write the arrays of a .npz file as an adapter."""


@refused
def main():
    """Would write the adapter that the command line asks for."""


if __name__ == "__main__":
    main()
