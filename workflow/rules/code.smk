# The code behind each file, for provenance.

from snakemake.iocontainers import Wildcards

from replirank.pipeline.provenance import current_commit, package_versions


def code_behind(targets):
    """The fingerprint of the code that made each of these files, and each file that they are made from.

    It is the parameter `code` of the rule that makes the file; a rule without one (`fetch`) computes nothing.
    """
    codes, pending, seen = {}, list(targets), set()
    while pending:
        path = str(pending.pop())
        if path in seen:
            continue
        seen.add(path)
        for maker in workflow.rules:
            if not maker.is_producer(path):
                continue
            wildcards = Wildcards(fromdict=maker.get_wildcards(path))
            pending += maker.expand_input(wildcards)[0]
            if code := maker.params.get("code"):
                codes[path] = code(wildcards) if callable(code) else code
    return codes
