"""Lists the packages: `find` alone cannot map the top-level folders `rules` and `codemods` into gblint."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["gblint", "gblint.*"]), "gblint.rules", "gblint.codemods"])
