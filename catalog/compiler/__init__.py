"""The catalogue compiler: parse reads the .cat files, every other module writes one kind of output."""
