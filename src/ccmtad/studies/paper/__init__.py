"""The paper's studies, one file each."""
