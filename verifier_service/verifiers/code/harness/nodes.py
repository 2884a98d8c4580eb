"""Linked lists and binary trees as contest sites write them in JSON: [1, 2, 3], and level order with null for a gap."""

from __future__ import annotations

from collections import deque
from typing import Any

MAX_NODE_COUNT = 200_000


class ListNode:
    """A node of a singly linked list."""

    def __init__(self, val: Any = 0, next: Any = None) -> None:
        self.val = val
        self.next = next


class TreeNode:
    """A node of a binary tree."""

    def __init__(self, val: Any = 0, left: Any = None, right: Any = None) -> None:
        self.val = val
        self.left = left
        self.right = right


class Node:
    """A node of several tasks; which fields matter depends on the task."""

    def __init__(self, val: Any = 0, left: Any = None, right: Any = None, next: Any = None) -> None:
        self.val = val
        self.left = left
        self.right = right
        self.next = next


def node_kind(hint: str) -> str | None:
    """'ListNode' or 'TreeNode' where an annotation speaks of one."""
    return next((kind for kind in ("ListNode", "TreeNode") if kind in hint), None)


def to_nodes(value: Any, hint: str, own: Any = None) -> Any:
    """Nodes from JSON data, as the annotation `hint` says; List[Optional[ListNode]] takes a list of lists.

    `own` is the submission's class of that name, if it defines one.
    """
    kind = node_kind(hint)
    if kind is None or not isinstance(value, list):
        return value
    make = own if isinstance(own, type) else {"ListNode": ListNode, "TreeNode": TreeNode}[kind]
    build = _linked if kind == "ListNode" else _tree
    if "ist[" in hint.replace("ListNode", ""):
        return [build(item, make) if isinstance(item, list) else item for item in value]
    return build(value, make)


def from_nodes(value: Any, hint: str = "") -> Any:
    """JSON data from nodes, also inside a list; anything else as it is.

    Where nodes are due, by the annotation `hint` or by what else is in the list, None is an empty list or tree: `[]`.
    """
    if value is None and node_kind(hint) is not None:
        return []
    name = type(value).__name__
    if name == "ListNode":
        return _list_values(value)
    if name == "TreeNode":
        return _level_order(value)
    if type(value) is list:
        kind = node_kind(hint) or next((node_kind(type(item).__name__) for item in value if item is not None), None)
        if kind is not None and all(item is None or type(item).__name__ == kind for item in value):
            return [from_nodes(item, kind) for item in value]
    return value


def _linked(values: list[Any], make: Any) -> Any:
    head = None
    for value in reversed(values):
        node = make(value)
        node.next = head
        head = node
    return head


def _tree(values: list[Any], make: Any) -> Any:
    if not values or values[0] is None:
        return None
    root = make(values[0])
    waiting, index = deque([root]), 1
    while waiting and index < len(values):
        node = waiting.popleft()
        for side in ("left", "right"):
            if index < len(values) and values[index] is not None:
                child = make(values[index])
                setattr(node, side, child)
                waiting.append(child)
            index += 1
    return root


def _list_values(node: Any) -> list[Any]:
    values: list[Any] = []
    while node is not None:
        if len(values) >= MAX_NODE_COUNT:
            raise ValueError("a linked list without end")
        values.append(node.val)
        node = node.next
    return values


def _level_order(root: Any) -> list[Any]:
    values: list[Any] = []
    waiting = deque([root])
    while waiting:
        if len(values) >= MAX_NODE_COUNT:
            raise ValueError("a tree without end")
        node = waiting.popleft()
        values.append(None if node is None else node.val)
        if node is not None:
            waiting.extend((node.left, node.right))
    while values and values[-1] is None:
        values.pop()
    return values
