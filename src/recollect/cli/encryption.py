"""Encryption of a SQLite home from the command line: encrypt, change the key, decrypt. A key is never an argument."""

from typing import Annotated

import typer

from recollect.cli.invocation import Invocation
from recollect.cli.options import examples, for_home
from recollect.cli.output import counted, document
from recollect.config import EncryptionSettings, Settings
from recollect.errors import ConfigError

__all__ = ["app"]

app = typer.Typer()


@app.command(epilog=examples("encrypt", "encrypt --new-key-file new.key"))
@for_home
def encrypt(
    call: Invocation,
    new_key_file: Annotated[
        str | None, typer.Option("--new-key-file", metavar="PATH", help="Change to the key in this file.")
    ] = None,
    new_key_command: Annotated[
        str | None,
        typer.Option("--new-key-command", metavar="COMMAND", help="Change to the key that this command prints."),
    ] = None,
) -> None:
    """Encrypt the files of a SQLite home with the key of the settings, or change the key.

    No other process may use the home. Each file is replaced when its encrypted copy is verified. The command can be
    interrupted and run again.
    """
    from recollect.wiring import change_key, key_of

    old = key_of(call.settings)
    given = EncryptionSettings(key_file=new_key_file, key_command=new_key_command)
    new = key_of(Settings(encryption=given)) or old
    if new is None:
        raise ConfigError("there is no key to encrypt with: set key_file or key_command in [encryption]")
    changed, files = change_key(call.home, old, new)
    if call.json:
        document({"changed": changed, "files": files})
        return
    print(f"{counted(files, 'file')} encrypted" if changed else "nothing to do: all files are encrypted with this key")
    if new is not old:
        print("now set the new key in [encryption] of the settings, and keep the old one for older backups")


@app.command(epilog=examples("decrypt"))
@for_home
def decrypt(call: Invocation) -> None:
    """Decrypt the files of a SQLite home. Afterwards, remove the key from the settings."""
    from recollect.wiring import change_key, key_of

    changed, files = change_key(call.home, key_of(call.settings), None)
    if call.json:
        document({"changed": changed, "files": files})
    elif changed:
        print(f"{counted(files, 'file')} decrypted; now remove the key from [encryption] of the settings")
    else:
        print("nothing to do: no file is encrypted")
