"""Answer what admission asks about the cluster: from watches, live look-ups, or files that stand for it."""
