"""A proof that a loader's code keeps no state, where everything that is not understood is state.

    proof.py         what a proof says; Doubt, which ends one
    prove.py         prove(loader)
    interpreter.py   what one reading of the code shares: steps, what is made, what is state
    rules.py         how the modules below call each other, without a circle
    values.py        what an expression may stand for
    frames.py        a function while it is read
    arguments.py     what a call is given
    source.py        a function's syntax tree
    lookup.py        what a class holds under a name
    statements.py, expressions.py, attributes.py, items.py, contents.py, calls.py, methods.py,
    construct.py, specials.py
                     what each construct of Python does
    plain.py         what a library may be given
    fills.py         caches that no sample can see
    known/           libraries, by exact object

The code is followed on the live objects and none of it is run. Each value is known to last (it was
there before the sample) or to be made in it. The first thing that may change what lasts, reach out of
the process, or is not understood ends the proof. Its verdict decides where code may run, never what
the bits are: a false alarm costs elasticity.

Nothing is imported here. Who follows code for another question takes a few of these modules, and a
program without a coordinator needs no proof.
"""
