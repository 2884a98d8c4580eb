"""The names the grammar knows: functions, constants, words that join, and words that are words."""

from __future__ import annotations

FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "cosec": "csc", "tg": "tan", "ctg": "cot",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctg": "atan", "asin": "asin", "acos": "acos", "atan": "atan",
    "arccot": "acot", "arcsec": "asec", "arccsc": "acsc", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "coth": "coth",
    "arsinh": "asinh", "arcsinh": "asinh", "asinh": "asinh", "arcosh": "acosh", "arccosh": "acosh", "acosh": "acosh",
    "artanh": "atanh", "arctanh": "atanh", "atanh": "atanh", "sech": "sech", "csch": "csch",
    "ln": "ln", "log": "log", "lg": "log", "exp": "exp", "abs": "abs", "floor": "floor", "ceil": "ceil", "ceiling": "ceil",
    "sgn": "sign", "sign": "sign", "max": "max", "min": "min", "gcd": "gcd", "lcm": "lcm", "Re": "re", "Im": "im", "re": "re",
    "im": "im", "arg": "arg", "det": "det", "cis": "cis", "sqrt": "sqrt", "cbrt": "cbrt", "factorial": "fact",
    "binomial": "binom", "binom": "binom", "conj": "conj",
}  # fmt: skip
GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "vartheta", "iota", "kappa", "lambda",
    "mu", "nu", "xi", "rho", "varrho", "sigma", "varsigma", "tau", "upsilon", "phi", "varphi", "chi", "psi", "omega", "Gamma",
    "Delta", "Theta", "Lambda", "Xi", "Sigma", "Phi", "Psi", "Omega", "Pi", "ell", "hbar", "partial", "aleph", "nabla",
}  # fmt: skip
SAME_GREEK = {"varepsilon": "epsilon", "vartheta": "theta", "varrho": "rho", "varsigma": "sigma", "varphi": "phi"}
CONSTANTS = {"pi": "pi", "infty": "oo", "infinity": "oo", "inf": "oo"}
RELATIONS = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "\\le": "<=", "\\leq": "<=", "\\leqslant": "<=",
    "\\ge": ">=", "\\geq": ">=", "\\geqslant": ">=", "\\lt": "<", "\\gt": ">", "\\ne": "!=", "\\neq": "!=", "!=": "!=",
    "<>": "!=", "\\approx": "~", "\\simeq": "~", "\\sim": "~", "\\in": "in", "\\notin": "notin", "\\equiv": "==", ":=": "=",
    "\\cong": "cong", "\\subset": "sub", "\\subseteq": "sub", "\\to": "to", "->": "to", "\\rightarrow": "to", "\\mapsto": "to",
    "=>": "imp", "\\Rightarrow": "imp", "\\implies": "imp", "\\iff": "imp", "\\Leftrightarrow": "imp", "\\parallel": "par",
    "\\perp": "perp", "\\mid": "divides", "\\triangleq": "=", "\\propto": "prop", "\\ll": "<<", "\\gg": ">>",
    "\\longrightarrow": "to",
}  # fmt: skip
SETS = {
    "\\mathbb{R}": "R", "\\mathbb{Z}": "Z", "\\mathbb{Q}": "Q", "\\mathbb{N}": "N", "\\mathbb{C}": "C", "\\emptyset": "empty",
    "\\varnothing": "empty", "\\R": "R", "\\Z": "Z", "\\Q": "Q", "\\N": "N", "\\C": "C", "\\reals": "R", "\\Reals": "R",
}  # fmt: skip
SHORT_WORDS = {
    "pct", "yes", "no", "odd", "even", "red", "one", "two", "six", "ten", "and", "or", "not", "the", "is", "are", "if", "all",
    "none",
    "sum", "day", "dog", "cat", "god", "act", "tea", "eat", "ate", "arm", "mar", "ram", "rat", "tar", "art", "bad", "dab", "cab",
    "an", "at", "by", "in", "of", "on", "to", "for", "per", "nan", "NaN", "zoo", "oo", "true", "True", "None", "null", "Yes",
    "No", "am", "pm", "AM", "PM", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Jan", "Feb", "Mar", "Apr", "May", "Jun",
    "Jul",
    "Aug", "Sep", "Oct", "Nov", "Dec", "Bob", "Tom", "Amy", "Ann", "Ben", "Joe", "Max", "Sam", "Tim", "Jim", "Kim", "Dan", "Don",
    "Ian", "Jen", "Joy", "Lee", "Leo", "Lia", "Liz", "Mia", "Pam", "Pat", "Ray", "Rob", "Ron", "Roy", "Sue", "Ted", "Una",
    "Val", "Eva", "Eve", "Zoe", "Ana", "boy", "man", "men", "hen", "hat", "pen", "car", "bus", "cow", "pig", "ant", "bee", "fox",
    "owl", "egg", "cup", "box", "bag", "way", "era", "ear", "was", "saw", "now", "won", "own", "top", "pot", "opt", "net",
    "left", "Left", "up", "down", "north", "south", "east", "west", "it", "as", "so", "but",
}  # fmt: skip
VARIABLE_FAMILIES = (set("abcd"), set("wxyz"), set("uvwxyz"), set("pqrs"), set("klmn"), set("rst"), set("xyzt"), set("ABCDEFGH"))
NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
SCALE_WORDS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
ORDINALS = {"half": (1, 2), "third": (1, 3), "thirds": (2, 3), "quarter": (1, 4), "fourth": (1, 4), "fifth": (1, 5),
            "sixth": (1, 6), "seventh": (1, 7), "eighth": (1, 8), "ninth": (1, 9), "tenth": (1, 10)}  # fmt: skip
HEDGES = {
    "or", "maybe", "perhaps", "possibly", "either", "not", "no", "never", "neither", "nor", "wrong", "incorrect", "unless",
    "except", "if", "approximately", "about", "around", "nearly", "almost", "roughly", "probably", "likely", "might", "could",
    "unknown", "unsure", "more", "less", "most", "least", "over", "under", "between", "than", "to", "minus", "plus", "times",
    "but", "when", "where", "for", "otherwise", "undefined", "impossible", "other", "another", "instead", "and",
    "versus", "vs", "some", "ish", "sometimes", "rarely", "often", "mostly", "usually", "depending",
    "depends", "unclear", "guess", "assuming", "provided", "within", "off", "rather", "without", "half", "both", "correct",
    "true", "false", "is", "are", "exceeds", "up", "grader", "answer", "rejected", "extraneous", "discarded", "invalid",
    "excluded", "inadmissible", "fails", "failed",
}  # fmt: skip
"""Words that keep a phrase after a number from being a unit."""
NOISE_PREFIX = {
    "the",
    "answer",
    "is",
    "final",
    "result",
    "value",
    "of",
    "equals",
    "therefore",
    "thus",
    "so",
    "hence",
    "it",
    "we",
    "get",
}
