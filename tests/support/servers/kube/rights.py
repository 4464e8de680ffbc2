"""Who may do what: tokens of service accounts, and Roles of one namespace."""

from dataclasses import dataclass, field
from typing import Any

from .objects import ApiError

Rule = dict[str, list[str]]  # as in a Role


@dataclass
class Account:
    name: str
    namespace: str
    token: str
    rules: list[Rule]

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"


@dataclass(frozen=True)
class Asked:
    """What a request is, to whoever decides."""

    verb: str
    group: str
    resource: str  # "pods", "deployments/scale"
    namespace: str
    name: str = ""

    def allowed_by(self, rule: Rule) -> bool:
        names = rule.get("resourceNames", [])
        return (
            self.verb in rule["verbs"]
            and self.group in rule["apiGroups"]
            and self.resource in rule["resources"]
            and (not names or self.name in names)
        )


@dataclass
class Rights:
    accounts: list[Account] = field(default_factory=list)
    used: set[tuple[str, str, str]] = field(default_factory=set)  # verb, group, resource

    def add(self, account: Account) -> None:
        self.accounts = [one for one in self.accounts if one.name != account.name] + [account]

    def who(self, header: str | None) -> Account:
        kind, _, token = (header or "").partition(" ")
        for account in self.accounts:
            if kind == "Bearer" and token == account.token:
                return account
        raise ApiError(401, "Unauthorized", "Unauthorized")

    def may(self, account: Account, asked: Asked) -> bool:
        home = asked.namespace == account.namespace
        return home and any(asked.allowed_by(rule) for rule in account.rules)

    def check(self, account: Account, asked: Asked) -> None:
        self.used.add((asked.verb, asked.group, asked.resource))
        if self.may(account, asked):
            return
        what = asked.resource.split("/")[0] + (f".{asked.group}" if asked.group else "")
        what += f' "{asked.name}"' if asked.name else ""
        raise ApiError(
            403,
            "Forbidden",
            f'{what} is forbidden: User "{account.user}" cannot {asked.verb} resource '
            f'"{asked.resource}" in API group "{asked.group}" in the namespace "{asked.namespace}"',
        )


def as_rules(value: Any) -> list[Rule]:
    """Of a Role's JSON or YAML."""
    for rule in value:
        unknown = set(rule) - {"apiGroups", "resources", "verbs", "resourceNames"}
        assert not unknown and rule["verbs"] and "*" not in rule["verbs"], rule
    return list(value)
