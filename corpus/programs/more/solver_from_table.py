# expect: GB0170 @ 27
"""Integrators in a table, one of which refines its step by what it meets."""
import torch


def euler(rate, x, dt):
    return x + dt * rate(x)


def midpoint(rate, x, dt):
    return x + dt * rate(x + 0.5 * dt * rate(x))


def heun(rate, x, dt):
    first = rate(x)
    return x + 0.5 * dt * (first + rate(x + dt * first))


def ralston(rate, x, dt):
    first = rate(x)
    return x + dt * (0.25 * first + 0.75 * rate(x + 2 / 3 * dt * first))


def refined(rate, x, dt):
    whole = heun(rate, x, dt)
    half = heun(rate, heun(rate, x, dt / 2), dt / 2)
    if (whole - half).abs().max() > 1e-3:
        return half
    return whole


def third(rate, x, dt):
    first = rate(x)
    return x + dt / 4 * (first + 3 * rate(x + 2 / 3 * dt * rate(x + dt / 3 * first)))


SOLVERS = {"euler": euler, "midpoint": midpoint, "heun": heun, "ralston": ralston, "refined": refined, "third": third,
           "explicit": euler, "trapezoid": heun, "adaptive": refined, "default": lambda rate, x, dt: x + dt * rate(x)}


@torch.compile
def integrate(x, method: str):
    return SOLVERS[method](torch.sin, x, 0.1)


print("checksum", round(integrate(torch.ones(3), "refined").sum().item(), 4))
