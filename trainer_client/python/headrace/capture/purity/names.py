"""Functions and methods whose effect on their object or argument is known by name."""

# Methods that change a list, dict, set, deque, array or tensor in place.
CHANGE = {
    "append", "extend", "insert", "pop", "popleft", "remove", "clear", "sort", "reverse", "update",
    "add", "discard", "popitem", "appendleft", "extendleft", "rotate", "fill", "put", "resize",
    "partition", "setdefault", "intersection_update", "difference_update", "subtract",
}  # fmt: skip
# What comes of them depends on what was there. A set has no values, so whoever asks it decides by it.
GROW = CHANGE - {"update", "clear", "fill", "put", "setdefault", "sort"}

# Methods that change nothing when they are called again on what they returned.
CONVERT = {"to", "cpu", "float", "double", "long", "contiguous", "clone", "copy"}

# Functions that change their first argument.
CHANGE_FIRST = {
    "random.shuffle", "numpy.random.shuffle", "heapq.heappush", "heapq.heappop",
    "heapq.heapify", "bisect.insort", "bisect.insort_left", "bisect.insort_right", "numpy.copyto",
    "numpy.put", "numpy.place",
}  # fmt: skip

# Functions that seed the generators that all code shares.
SEED = {"random.seed", "numpy.random.seed", "torch.random.manual_seed", "torch.random.seed"}

# Functions that write files.
WRITE_FILES = {
    "numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt", "torch.save",
    "pickle.dump", "json.dump", "os.remove", "os.unlink", "os.rename", "os.replace",
    "shutil.move", "shutil.copy", "shutil.copyfile", "shutil.rmtree", "cv2.imwrite",
}  # fmt: skip
WRITE_FILE_METHODS = {"write_text", "write_bytes", "unlink", "to_csv", "to_pickle", "to_parquet"}

# Methods that return the object's own content.
VIEWS = {
    "get", "values", "items", "keys", "view", "reshape", "transpose", "squeeze", "permute", "numpy",
    "ravel", "unsqueeze", "T", "swapaxes",
}  # fmt: skip
VIEW_FUNCTIONS = {"numpy.asarray", "torch.from_numpy", "torch.as_tensor"}
# Methods of tensors, and functions of torch, that draw random numbers.
DRAW_IN_PLACE = {
    "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "geometric_", "cauchy_",
    "log_normal_",
}  # fmt: skip
DRAW_TORCH = {
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal",
    "bernoulli", "multinomial", "poisson", "dropout",
}  # fmt: skip
# Classes of libraries whose calls draw.
DRAWING_CLASSES = (
    "Random", "AutoAugment", "TrivialAugment", "AugMix", "ColorJitter", "Mix", "CutMix", "Elastic",
    "ScaleJitter", "Gaussian",
)  # fmt: skip
# Builtins whose result yields the entries of their arguments.
YIELDING = {"enumerate", "zip", "reversed", "iter", "list", "tuple", "sorted", "filter"}
