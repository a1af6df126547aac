"""Labels, in the terms of every version of Bazel."""

def repository_of(label):
    """The repository of a label, "" for the main one; newer versions of Bazel renamed the field.

    Args:
      label: a Label.
    """
    return label.repo_name if hasattr(label, "repo_name") else label.workspace_name
